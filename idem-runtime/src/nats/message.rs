//! A message as a body sees it, and how it is told from others.

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream;
use data_encoding::HEXLOWER;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::Failure;
use super::relay::{ACTOR, TENANT};
use crate::key::Scope;

/// What becomes of a message without the header `Nats-Msg-Id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingId {
    /// It does not run and becomes a dead letter: its sender cannot be told from one who repeats himself.
    #[default]
    Refuse,
    /// Stream and sequence are its identity. A redelivery takes effect once; what is published twice, twice.
    StreamSequence,
}

/// One delivery of a message.
#[derive(Debug)]
pub struct Message {
    pub(super) raw: jetstream::Message,
    id: Option<String>,
    stream: String,
    sequence: u64,
    deliveries: i64,
}

impl Message {
    /// Reads what the broker says of its message; `None` if it comes from no stream.
    pub(super) fn read(raw: jetstream::Message, missing: MissingId) -> Option<Self> {
        let info = raw.info().ok()?;
        let (stream, sequence, deliveries) = (info.stream.to_owned(), info.stream_sequence, info.delivered);
        let sent = raw.headers.as_ref().and_then(|headers| headers.get(NATS_MESSAGE_ID));
        let sent = sent.map(|id| id.as_str().to_owned()).filter(|id| !id.is_empty());
        let id = sent.or_else(|| match missing {
            MissingId::Refuse => None,
            MissingId::StreamSequence => Some(format!("{stream}:{sequence}")),
        });
        Some(Self { raw, id, stream, sequence, deliveries })
    }

    /// What the sender repeats: `Nats-Msg-Id`, or stream and sequence where [`MissingId`] says so.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Where it was published.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.raw.subject.as_str()
    }

    /// What was published.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.raw.payload
    }

    /// The payload as JSON; one that cannot be read may be read by another version of the program, so it comes again.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        Ok(serde_json::from_slice(&self.raw.payload)?)
    }

    /// A header, in the case in which it was sent.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        // The map panics at a name that no header can have.
        let name: async_nats::HeaderName = name.parse().ok()?;
        Some(self.raw.headers.as_ref()?.get(name)?.as_str())
    }

    /// Tenant and actor of an event that a [`Relay`](super::Relay) published.
    ///
    /// They are as trustworthy as all who may publish to the stream. A message without them is a dead letter.
    pub fn scope(&self) -> Result<Scope, Failure> {
        let (tenant, actor) = (self.header(TENANT), self.header(ACTOR));
        let (Some(tenant), Some(actor)) = (tenant, actor) else {
            return Err(Failure::never(format!("the headers {TENANT} and {ACTOR} are missing")));
        };
        Scope::new(tenant, actor).map_err(Failure::never)
    }

    /// The stream that holds it.
    #[must_use]
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// Its number in the stream.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// How often the broker has delivered it to this consumer, this time included.
    #[must_use]
    pub fn deliveries(&self) -> i64 {
        self.deliveries
    }

    /// What tells two messages with one id apart.
    pub(super) fn digest(&self) -> String {
        HEXLOWER.encode(&Sha256::digest(&self.raw.payload))
    }
}
