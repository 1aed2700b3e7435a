//! A process between a database and a NATS server, which says how far it is, so that a test can kill it there.

use std::future::pending;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::consumer::PullConsumer;
use clap::{Args, Parser, Subcommand};
use idem_runtime::nats::{DeadLetters, Failure, Message, Receiver, Relay};
use idem_runtime::outbox::{Delivery, Dispatcher};
use idem_runtime::store::Outbox;
use idem_runtime::{IdempotencyMutationGuard, Inbox, Mutation, Scope, outbox_handler};
#[cfg(feature = "mysql")]
use idem_tests::OnMysql;
#[cfg(feature = "postgres")]
use idem_tests::OnPostgres;
use idem_tests::{Fixture, OnSqlite};
use sqlx::pool::PoolOptions;

#[derive(Parser)]
struct Arguments {
    /// The database, with the tables of a `Fixture`.
    #[arg(long)]
    database_url: String,
    /// The broker, with the streams of the tests.
    #[arg(long)]
    nats_url: String,
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand, Clone)]
enum Part {
    /// Writes a row for each message, named like its payload.
    Receive(Receive),
    /// Publishes each event.
    Relay(Forward),
}

#[derive(Args, Clone)]
struct Receive {
    /// Stands still in the body, after it wrote.
    #[arg(long)]
    stop: bool,
    /// The same, until this file is there.
    #[arg(long)]
    until: Option<PathBuf>,
}

#[derive(Args, Clone)]
struct Forward {
    /// Stands still when the stream has the event, before the event is marked.
    #[arg(long)]
    stop: bool,
}

const LEASE: Duration = Duration::from_millis(400);

#[tokio::main(worker_threads = 2)]
async fn main() {
    let Arguments { database_url, nats_url, part } = Arguments::parse();
    let options = async_nats::ConnectOptions::new().retry_on_initial_connect();
    let client = options.connect(nats_url).await.expect("a client that tries again does not fail");
    let jetstream = jetstream::new(client);
    if database_url.starts_with("sqlite:") {
        return play::<OnSqlite>(&database_url, jetstream, part).await;
    }
    #[cfg(feature = "mysql")]
    if database_url.starts_with("mysql:") {
        return play::<OnMysql>(&database_url, jetstream, part).await;
    }
    #[cfg(feature = "postgres")]
    if database_url.starts_with("postgres") {
        return play::<OnPostgres>(&database_url, jetstream, part).await;
    }
    panic!("built without the feature for this database");
}

async fn play<F: Fixture<S: Outbox>>(url: &str, jetstream: jetstream::Context, part: Part) {
    let pool =
        PoolOptions::<F::S>::new().max_connections(8).connect(url).await.expect("the database is there");
    let guard = IdempotencyMutationGuard::builder(pool).build().await.expect("its tables were made");
    match part {
        Part::Receive(receive) => receive.play::<F>(guard, jetstream).await,
        Part::Relay(forward) => forward.play::<F>(guard, jetstream).await,
    }
}

impl Receive {
    async fn play<F: Fixture>(self, guard: IdempotencyMutationGuard<F::S>, jetstream: jetstream::Context) {
        let stream = jetstream.get_stream("MESSAGES").await.expect("the test has made the stream");
        let consumer: PullConsumer = stream.get_consumer("billing").await.expect("and the consumer");
        let inbox = Inbox::new(guard, "messages").expect("a route").lease(LEASE);
        let dead_letters = DeadLetters::new(jetstream, "dead.messages");
        let receiver = Receiver::builder(inbox, consumer, dead_letters, scope_of)
            // A kill leaves a failure now and then; none of them is the message's own.
            .max_deliveries(10_000)
            .pauses(Duration::from_millis(5), Duration::from_millis(20))
            .build()
            .await
            .expect("the consumer is fit");
        let _running = receiver.spawn(move |message, mutation| {
            let this = self.clone();
            Box::pin(async move { this.write::<F>(message, mutation).await })
        });
        println!("running");
        pending::<()>().await;
    }

    async fn write<F: Fixture>(
        &self,
        message: &Message,
        mutation: &mut Mutation<F::S>,
    ) -> Result<(), Failure> {
        let name: String = message.json()?;
        F::effect(mutation, &name).await?;
        println!("written {name}");
        if self.stop {
            pending::<()>().await;
        }
        while self.until.as_ref().is_some_and(|file| !file.exists()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

fn scope_of(message: &Message) -> Result<Scope, Failure> {
    match message.header("Idem-Tenant") {
        Some(_) => message.scope(),
        None => Ok(Scope::new("acme", "bank")?),
    }
}

impl Forward {
    async fn play<F: Fixture<S: Outbox>>(
        self,
        guard: IdempotencyMutationGuard<F::S>,
        jetstream: jetstream::Context,
    ) {
        let dispatcher = Dispatcher::builder(guard)
            .state(Forwarding { relay: Relay::new(jetstream, "messages"), stop: self.stop })
            .lease(LEASE)
            .look_every(Duration::from_millis(50))
            .max_deliveries(100_000)
            .pauses(Duration::from_millis(5), Duration::from_millis(20))
            .build()
            .await
            .expect("the outbox is there");
        let _running = dispatcher.spawn();
        println!("running");
        pending::<()>().await;
    }
}

struct Forwarding {
    relay: Relay,
    stop: bool,
}

impl Forwarding {
    async fn publish(&self, delivery: &Delivery<String>) -> Result<(), String> {
        let published = self.relay.publish(delivery).await.map_err(|error| error.to_string())?;
        println!("published {} duplicate={}", delivery.payload(), published.duplicate);
        if self.stop {
            pending::<()>().await;
        }
        Ok(())
    }
}

/// The handler of one database.
macro_rules! handler {
    ($module:ident, $key:literal) => {
        mod $module {
            use idem_runtime::$module::Claim;

            use super::*;

            #[outbox_handler(event = "bridge.moved", version = 1, handler_key = $key, lease = "400ms")]
            async fn forward(
                delivery: &Delivery<String>,
                forwarding: &Forwarding,
                _claim: &Claim,
            ) -> Result<(), String> {
                forwarding.publish(delivery).await
            }
        }
    };
}

handler!(sqlite, "bridge-s");
#[cfg(feature = "postgres")]
handler!(postgres, "bridge-p");
#[cfg(feature = "mysql")]
handler!(mysql, "bridge-m");
