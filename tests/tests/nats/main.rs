//! What a bridge to NATS JetStream is promised: each message one effect, each event one message, and nothing lost.
//!
//! Each test has a server of its own.

mod dead;
mod killed;
mod receiving;
mod relaying;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{self, Context};
use idem_runtime::nats::{DeadLetters, Failure, Message, Receiver, ReceiverBuilder};
use idem_runtime::outbox::Running;
use idem_runtime::store::Outbox;
use idem_runtime::{IdempotencyMutationGuard, Inbox, Mutation};
use idem_test_support::nats::NatsServer;
use idem_test_support::process::Process;
use idem_tests::{Fixture, scope};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

pub(crate) const NOW: Duration = Duration::from_millis(1);
/// How long the broker waits for an acknowledgement.
pub(crate) const ACK_WAIT: Duration = Duration::from_millis(600);

/// A database, a broker with the streams `MESSAGES` and `DEAD`, and a consumer `billing` of the first.
pub(crate) struct Bridge<F: Fixture> {
    pub(crate) fixture: F,
    pub(crate) guard: IdempotencyMutationGuard<F::S>,
    pub(crate) server: NatsServer,
    pub(crate) jetstream: Context,
    pub(crate) stage: Stage,
}

/// A database with an outbox.
pub(crate) trait WithOutbox: Fixture<S: Outbox> {}

impl<F: Fixture<S: Outbox>> WithOutbox for F {}

/// What a body is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The row that it writes.
    pub(crate) name: String,
    pub(crate) then: Then,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq)]
pub(crate) enum Then {
    Succeed,
    /// Fails so many times before.
    FailBefore(usize),
    /// Says that it can never work.
    NeverWork,
    Panic,
    /// Waits until the test lets it go on.
    Wait,
}

/// What bodies share with their test.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stage(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    began: Mutex<Vec<String>>,
    waiting: Notify,
    go_on: Notify,
}

impl Stage {
    pub(crate) fn times(&self, name: &str) -> usize {
        self.0.began.lock().unwrap().iter().filter(|began| *began == name).count()
    }

    pub(crate) async fn is_waiting(&self) {
        self.0.waiting.notified().await;
    }

    pub(crate) fn go_on(&self) {
        self.0.go_on.notify_one();
    }

    async fn run<F: Fixture>(&self, message: &Message, mutation: &mut Mutation<F::S>) -> Result<(), Failure> {
        let task: Task = message.json()?;
        self.0.began.lock().unwrap().push(task.name.clone());
        F::effect(mutation, &task.name).await?;
        match task.then {
            Then::Succeed => Ok(()),
            Then::FailBefore(failures) if self.times(&task.name) > failures => Ok(()),
            Then::FailBefore(_) => Err(Failure::again("as the\ntest wants")),
            Then::NeverWork => Err(Failure::never("no such account")),
            Then::Panic => panic!("as the test wants"),
            Then::Wait => {
                self.0.waiting.notify_one();
                self.0.go_on.notified().await;
                Ok(())
            }
        }
    }
}

impl<F: Fixture> Bridge<F> {
    pub(crate) async fn create() -> Self {
        let fixture = F::create().await;
        let (guard, server) = (fixture.guard(8).await, NatsServer::start().await);
        let jetstream = jetstream::new(async_nats::connect(server.url()).await.unwrap());
        let bridge = Self { fixture, guard, server, jetstream, stage: Stage::default() };
        bridge.stream("DEAD", "dead.>").await;
        bridge.stream("MESSAGES", "messages.>").await;
        bridge.consumer("billing").await;
        bridge
    }

    async fn stream(&self, name: &str, subjects: &str) {
        let (name, subjects) = (name.to_owned(), vec![subjects.to_owned()]);
        let config = jetstream::stream::Config { name, subjects, ..Default::default() };
        self.jetstream.create_stream(config).await.unwrap();
    }

    /// Makes the stream anew, so that it has forgotten all messages and their ids.
    pub(crate) async fn forget(&self) {
        self.jetstream.delete_stream("MESSAGES").await.unwrap();
        self.stream("MESSAGES", "messages.>").await;
        self.consumer("billing").await;
    }

    pub(crate) async fn messages(&self) -> Stream {
        self.jetstream.get_stream("MESSAGES").await.unwrap()
    }

    pub(crate) async fn consumer(&self, name: &str) -> PullConsumer {
        let durable_name = Some(name.to_owned());
        let config = pull::Config { durable_name, ack_wait: ACK_WAIT, ..Default::default() };
        self.messages().await.get_or_create_consumer(name, config).await.unwrap()
    }

    /// A receiver of `billing` that loses no time.
    pub(crate) async fn receiver(&self) -> ReceiverBuilder<F::S> {
        self.receiver_of("billing").await
    }

    pub(crate) async fn receiver_of(&self, consumer: &str) -> ReceiverBuilder<F::S> {
        let inbox = Inbox::new(self.guard.clone(), "messages").unwrap().lease(Duration::from_secs(1));
        let dead_letters = DeadLetters::new(self.jetstream.clone(), "dead.messages");
        let builder = Receiver::builder(inbox, self.consumer(consumer).await, dead_letters, |_| Ok(scope()));
        builder.pauses(NOW, NOW)
    }

    pub(crate) async fn run(&self, receiver: ReceiverBuilder<F::S>) -> Running {
        let stage = self.stage.clone();
        receiver.build().await.unwrap().spawn(move |message, mutation| {
            let stage = stage.clone();
            Box::pin(async move { stage.run::<F>(message, mutation).await })
        })
    }

    /// Sends a message, with an id unless that is empty.
    pub(crate) async fn send(&self, id: &str, payload: &impl Serialize) -> PublishAck {
        let message = PublishMessage::build().payload(serde_json::to_vec(payload).unwrap().into());
        let message = message.header("Colour", "blue");
        let message = if id.is_empty() { message } else { message.message_id(id) };
        self.jetstream.send_publish("messages.test", message).await.unwrap().await.unwrap()
    }

    /// Sends a task whose id is its name.
    pub(crate) async fn send_task(&self, name: &str, then: Then) {
        assert!(!self.send(name, &Task { name: name.to_owned(), then }).await.duplicate);
    }

    /// Waits until the broker has an end of every message.
    pub(crate) async fn settled(&self) {
        self.settled_of("billing").await;
    }

    pub(crate) async fn settled_of(&self, consumer: &str) {
        let consumer = self.consumer(consumer).await;
        loop {
            let info = consumer.get_info().await.unwrap();
            if info.num_pending == 0 && info.num_ack_pending == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// How often the broker has delivered anything to the consumer.
    pub(crate) async fn deliveries(&self, consumer: &str) -> u64 {
        self.consumer(consumer).await.get_info().await.unwrap().delivered.consumer_sequence
    }

    pub(crate) async fn effects(&self, name: &str) -> i64 {
        F::effects(self.guard.pool(), name).await
    }

    /// A process of `bridge`, once it runs.
    pub(crate) async fn process(&self, arguments: &[&str]) -> Process {
        self.process_at(&self.server.url(), arguments).await
    }

    pub(crate) async fn process_at(&self, nats_url: &str, arguments: &[&str]) -> Process {
        let url = self.fixture.url();
        let places = ["--database-url", &url, "--nats-url", nats_url];
        let mut process = Process::spawn(env!("CARGO_BIN_EXE_bridge"), [&places, arguments].concat());
        process.wait_for("running").await;
        process
    }
}
