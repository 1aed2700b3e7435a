//! Publishes events of the outbox, under an identity that is the same at every delivery.

use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::PublishError;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::publish::PublishAck;

use crate::outbox::Delivery;

/// Whose event it is, as a header.
pub(super) const TENANT: &str = "Idem-Tenant";
/// Who caused it, as a header.
pub(super) const ACTOR: &str = "Idem-Actor";

/// Forwards events to the stream that takes `<prefix>.<event type>`.
///
/// Give it to the dispatcher by [`state`](crate::outbox::DispatcherBuilder::state), and call
/// [`publish`](Self::publish) in a handler with `claim`, one for each event type and version.
#[derive(Debug, Clone)]
pub struct Relay {
    jetstream: Context,
    prefix: String,
}

impl Relay {
    /// A relay to subjects that begin with `prefix`.
    pub fn new(jetstream: Context, prefix: impl Into<String>) -> Self {
        Self { jetstream, prefix: prefix.into() }
    }

    /// Publishes an event and waits until the stream has it; the answer says whether it had it before.
    ///
    /// The payload is the published JSON, byte for byte. `Nats-Msg-Id` is `<event id>:<subject>`, the same at every
    /// delivery: the stream drops a repetition as long as its duplicate window lasts, and the inbox of the consumer
    /// recognises it after that. The headers are those of the event, and `Idem-Event-Type`, `Idem-Event-Version`,
    /// `Idem-Tenant`, `Idem-Actor` and, where there is one, `Idem-Aggregate`.
    pub async fn publish<P>(&self, event: &Delivery<P>) -> Result<PublishAck, RelayError> {
        let subject = format!("{}.{}", self.prefix, event.event_type());
        let mut headers = HeaderMap::new();
        for (name, value) in event.headers() {
            if name.to_ascii_lowercase().starts_with("nats-") {
                return Err(RelayError::Header { name: name.clone() });
            }
            insert(&mut headers, name, value)?;
        }
        insert(&mut headers, "Idem-Event-Type", event.event_type())?;
        insert(&mut headers, "Idem-Event-Version", &event.version().to_string())?;
        insert(&mut headers, TENANT, event.tenant())?;
        insert(&mut headers, ACTOR, event.actor())?;
        if let Some(aggregate) = event.aggregate() {
            insert(&mut headers, "Idem-Aggregate", aggregate)?;
        }
        let message = PublishMessage::build().headers(headers).payload(event.json().to_owned().into());
        let message = message.message_id(format!("{}:{subject}", event.id()));
        Ok(self.jetstream.send_publish(subject, message).await?.await?)
    }
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), RelayError> {
    let refused = || RelayError::Header { name: name.to_owned() };
    let parsed: async_nats::HeaderName = name.parse().map_err(|_| refused())?;
    let value: async_nats::HeaderValue = value.parse().map_err(|_| refused())?;
    headers.insert(parsed, value);
    Ok(())
}

/// An event that is not in the stream, as far as we know; the dispatcher delivers it again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// The broker did not confirm it.
    #[error("the broker did not confirm the event: {0}")]
    Publish(#[from] PublishError),
    /// A header that cannot go with a message, or that the broker would act on.
    #[error(
        "the header {name:?} cannot go with a message: it is none, or has a line break, or is the broker's own"
    )]
    Header {
        /// Its name.
        name: String,
    },
}
