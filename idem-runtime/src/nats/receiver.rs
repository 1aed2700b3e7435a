//! Takes messages, as many at once as it has places.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::jetstream::AckKind;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::consumer::pull::Batch;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::deliver::{Body, Settings, say};
use super::{DeadLetters, Failure, Message, ReceiverBuilder};
use crate::guard::Claim;
use crate::inbox::Inbox;
use crate::key::Scope;
use crate::mutation::Mutation;
use crate::outbox::Running;
use crate::store::Store;

/// How long the broker keeps a request for messages.
const EXPIRES: Duration = Duration::from_secs(5);
/// The pause after the broker did not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// Receives the messages of one consumer; any number of processes may have one.
///
/// Each message runs a body through the inbox, so that it takes effect once, and is acknowledged after the commit. A
/// process that dies in between gets it again, finds it done, and acknowledges. See [the module](super) for an example
/// and `docs/nats.md` for what holds.
pub struct Receiver<S: Store> {
    pub(super) consumer: PullConsumer,
    pub(super) limits: Limits,
    pub(super) settings: Arc<Settings<S>>,
}

/// How many messages may be asked for.
pub(super) struct Limits {
    pub(super) concurrency: usize,
    pub(super) batch: usize,
    pub(super) expires: Option<Duration>,
}

impl<S: Store> fmt::Debug for Receiver<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("concurrency", &self.limits.concurrency).finish_non_exhaustive()
    }
}

impl<S: Store> Receiver<S> {
    /// Starts to build a receiver of the messages of `consumer`, which run through `inbox`.
    ///
    /// `scope` says whose message it is: a fixed pair for one sender, [`Message::scope`] for what a
    /// [`Relay`](super::Relay) published.
    pub fn builder(
        inbox: Inbox<S>,
        consumer: PullConsumer,
        dead_letters: DeadLetters,
        scope: impl Fn(&Message) -> Result<Scope, Failure> + Send + Sync + 'static,
    ) -> ReceiverBuilder<S> {
        ReceiverBuilder::new(inbox, consumer, dead_letters, scope)
    }

    /// Runs in a task of its own until it is told to stop. The effects of `body` commit together with the memory of
    /// the message.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime. A panic of the body is a failure of the message.
    #[must_use = "a receiver that is dropped stops"]
    pub fn spawn<F>(self, body: F) -> Running
    where
        F: for<'a> Fn(&'a Message, &'a mut Mutation<S>) -> BoxFuture<'a, Result<(), Failure>>
            + Send
            + Sync
            + 'static,
    {
        self.start(Body::InTransaction(Box::new(body)))
    }

    /// The same for effects outside, which get their keys from the claim.
    ///
    /// # Panics
    ///
    /// As [`spawn`](Self::spawn).
    #[must_use = "a receiver that is dropped stops"]
    pub fn spawn_external<F>(self, body: F) -> Running
    where
        F: for<'a> Fn(&'a Message, &'a Claim<S>) -> BoxFuture<'a, Result<(), Failure>>
            + Send
            + Sync
            + 'static,
    {
        self.start(Body::Outside(Box::new(body)))
    }

    fn start(self, body: Body<S>) -> Running {
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        Running::new(stop, tokio::spawn(async move { self.run(Arc::new(body), &stopping).await }))
    }

    async fn run(self, body: Arc<Body<S>>, stop: &CancellationToken) {
        let mut under_way = JoinSet::new();
        while !stop.is_cancelled() {
            let free = self.limits.concurrency.saturating_sub(under_way.len());
            if free == 0 {
                under_way.join_next().await;
                continue;
            }
            // No more than there are places for: a message that waits with us is delivered again elsewhere.
            let asking = self.consumer.batch().max_messages(free.min(self.limits.batch));
            let expires = self.limits.expires.map_or(EXPIRES, |longest| longest.min(EXPIRES));
            let asked_on = self.connects();
            let taken = match asking.expires(expires).messages().await {
                Ok(mut batch) => self.take(&mut batch, asked_on, &body, &mut under_way, stop).await,
                Err(error) => Err(error.into()),
            };
            if let Err(error) = taken {
                tracing::warn!(%error, "no messages could be taken; trying again");
                let _ = tokio::time::timeout(PAUSE, stop.cancelled()).await;
            }
        }
        while under_way.join_next().await.is_some() {}
        if let Err(error) = self.settings.dead_letters.client().flush().await {
            tracing::debug!(%error, "the last words to the broker may be lost; it delivers again");
        }
    }

    /// How often the client has connected.
    fn connects(&self) -> u64 {
        self.settings.dead_letters.client().statistics().connects.load(Ordering::Relaxed)
    }

    /// Begins with each message as it comes, until the broker has no more of this request.
    async fn take(
        &self,
        batch: &mut Batch,
        asked_on: u64,
        body: &Arc<Body<S>>,
        under_way: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) -> Result<(), async_nats::Error> {
        loop {
            let message = tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = under_way.join_next() => continue,
                message = batch.next() => message,
                () = tokio::time::sleep(PAUSE) => {
                    // A request is lost with its connection.
                    if self.connects() != asked_on {
                        return Ok(());
                    }
                    continue;
                }
            };
            let Some(message) = message.transpose()? else { return Ok(()) };
            let (settings, body) = (Arc::clone(&self.settings), Arc::clone(body));
            under_way.spawn(async move { settings.deliver(message, &body).await });
        }
        // What came and has not begun goes to another consumer at once.
        while let Some(Some(Ok(message))) = batch.next().now_or_never() {
            say(&message, AckKind::Nak(None)).await;
        }
        Ok(())
    }
}
