//! How a receiver is set up, and what of a consumer would lose messages.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Config, PullConsumer};

use super::deliver::{ScopeOf, Settings};
use super::receiver::Limits;
use super::verdict::Patience;
use super::{DeadLetters, Failure, Message, MissingId, Receiver};
use crate::inbox::Inbox;
use crate::key::Scope;
use crate::outbox::Pauses;
use crate::store::Store;

/// How long a broker waits for an acknowledgement unless the consumer says so.
const ACK_WAIT: Duration = Duration::from_secs(30);

/// Settings of a receiver; see [`Receiver::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct ReceiverBuilder<S: Store> {
    inbox: Inbox<S>,
    consumer: PullConsumer,
    dead_letters: DeadLetters,
    scope: Box<ScopeOf>,
    missing_id: MissingId,
    concurrency: usize,
    patience: Patience,
}

impl<S: Store> std::fmt::Debug for ReceiverBuilder<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReceiverBuilder").finish_non_exhaustive()
    }
}

impl<S: Store> ReceiverBuilder<S> {
    pub(super) fn new(
        inbox: Inbox<S>,
        consumer: PullConsumer,
        dead_letters: DeadLetters,
        scope: impl Fn(&Message) -> Result<Scope, Failure> + Send + Sync + 'static,
    ) -> Self {
        let pauses = Pauses { first: Duration::from_secs(1), longest: Duration::from_mins(5) };
        Self {
            inbox,
            consumer,
            dead_letters,
            scope: Box::new(scope),
            missing_id: MissingId::default(),
            concurrency: 16,
            patience: Patience { max_deliveries: 20, pauses },
        }
    }

    /// What becomes of a message without `Nats-Msg-Id`; refused unless set.
    pub fn missing_id(mut self, missing_id: MissingId) -> Self {
        self.missing_id = missing_id;
        self
    }

    /// How many messages are at work at once, 16 unless set; each needs up to two connections of the pool.
    pub fn concurrency(mut self, messages: usize) -> Self {
        self.concurrency = messages.max(1);
        self
    }

    /// After how many failed tries a message becomes a dead letter, 20 unless set.
    ///
    /// Deliveries that found another consumer at work, or no database, are no tries.
    pub fn max_deliveries(mut self, deliveries: u32) -> Self {
        self.patience.max_deliveries = i64::from(deliveries.max(1));
        self
    }

    /// The pause after the first failure, which doubles, and the longest; 1 s and 5 min unless set.
    pub fn pauses(mut self, first: Duration, longest: Duration) -> Self {
        self.patience.pauses = Pauses { first, longest: longest.max(first) };
        self
    }

    /// Asks the broker what the consumer is, and refuses one that would lose messages.
    pub async fn build(self) -> Result<Receiver<S>, ReceiverError> {
        let info = self.consumer.get_info().await;
        let info = info.map_err(|error| ReceiverError::Broker(error.to_string()))?;
        let config = info.config;
        if config.ack_policy != AckPolicy::Explicit {
            return Err(ReceiverError::AckPolicy);
        }
        if config.max_deliver > 0 {
            return Err(ReceiverError::MaxDeliver(config.max_deliver));
        }
        if config.headers_only {
            return Err(ReceiverError::HeadersOnly);
        }
        self.dead_letters.check(&info.stream_name).await?;
        let batch = usize::try_from(config.max_batch).ok().filter(|batch| *batch > 0);
        let limits = Limits {
            concurrency: self.concurrency,
            batch: batch.unwrap_or(usize::MAX),
            expires: Some(config.max_expires).filter(|expires| !expires.is_zero()),
        };
        let settings = Settings {
            inbox: self.inbox,
            dead_letters: self.dead_letters,
            scope: self.scope,
            missing_id: self.missing_id,
            patience: self.patience,
            ack_wait: ack_wait(&config),
        };
        Ok(Receiver { consumer: self.consumer, limits, settings: Arc::new(settings) })
    }
}

/// The shortest time after which the broker delivers again.
fn ack_wait(config: &Config) -> Duration {
    let waits = config.backoff.iter().copied().chain([config.ack_wait]);
    waits.filter(|wait| !wait.is_zero()).min().unwrap_or(ACK_WAIT)
}

/// A receiver that cannot be built; each message says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiverError {
    /// The broker would take messages as done that are not.
    #[error("the consumer does not acknowledge each message: make it with `ack_policy: AckPolicy::Explicit`")]
    AckPolicy,
    /// The broker would give messages up without a word.
    #[error(
        "the consumer gives a message up after {0} deliveries, and nobody would know: make it without `max_deliver`, as `max_deliveries` of the receiver keeps a dead letter"
    )]
    MaxDeliver(i64),
    /// The bodies would see no payloads.
    #[error("the consumer delivers headers only: make it without `headers_only`")]
    HeadersOnly,
    /// Dead letters have no place.
    #[error("no stream of their own takes dead letters under {subject:?}: {reason}")]
    DeadLetters {
        /// The subject.
        subject: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The broker did not answer, or knows no such consumer.
    #[error("the broker did not say what the consumer is: {0}")]
    Broker(String),
}
