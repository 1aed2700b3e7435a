//! The idempotency record: what is known of one key, as the database holds it.
//!
//! Nothing in here does I/O; the times are the database's and are never compared with a local clock.

use std::fmt;
use std::time::Duration;

use uuid::Uuid;

use crate::key::RecordKey;
use crate::policy::Terms;

mod sealed;

pub use sealed::{Sealed, sealed_key_id};

/// A moment of the database's clock, in microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `micros` microseconds after 1970-01-01 UTC.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// How much time passes from this moment to `later`; zero when `later` is not later.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idem_runtime::Timestamp;
    ///
    /// let now = Timestamp::from_micros(1_000);
    /// assert_eq!(now.until(Timestamp::from_micros(3_000)), Duration::from_millis(2));
    /// assert_eq!(now.until(Timestamp::from_micros(0)), Duration::ZERO);
    /// ```
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_micros(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }

    /// This moment plus `duration`, at most the last moment that can be held.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }
}

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// An attempt owns it, or did when it stopped.
    Processing,
    /// The body succeeded and its answer is kept.
    Succeeded,
    /// The body failed, or the claim was released.
    Failed,
    /// Its life is over; the next claim starts a new one.
    Expired,
}

impl Status {
    /// The word that stands in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Processing => "processing",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The fencing token: which attempt owns the record. Every later write of an attempt carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FencingToken {
    /// Grows by one at each claim, starting at one.
    pub attempt: i64,
    /// Random; lets a caller recognise its own claim when the reply to it was lost.
    pub claim_id: Uuid,
}

/// What is kept of the body of an answer; `Debug` shows its length alone.
#[derive(Clone, PartialEq, Eq)]
pub enum AnswerBody {
    /// The exact bytes.
    Kept(Vec<u8>),
    /// It was over the storage limit; a replay goes without it and says so.
    Omitted,
    /// Headers, content type and body are sealed; only a guard with the key can give them.
    Sealed(Sealed),
}

impl fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept(bytes) => write!(f, "Kept({} bytes)", bytes.len()),
            Self::Omitted => f.write_str("Omitted"),
            Self::Sealed(sealed) => sealed.fmt(f),
        }
    }
}

/// An answer as it is replayed: status, chosen headers in order, content type, body.
///
/// `Debug` shows neither the values of headers nor the body: they may hold secrets, and records end up in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status, or the status that a service function was declared with.
    pub code: u16,
    /// Lower-case names and exact values, repeated ones in their order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The content type, if there was one.
    pub content_type: Option<String>,
    /// The body.
    pub body: AnswerBody,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Answer")
            .field("code", &self.code)
            .field("headers", &names)
            .field("content_type", &self.content_type)
            .field("body", &self.body)
            .finish()
    }
}

impl Answer {
    /// An answer of `code` with a JSON body.
    ///
    /// ```
    /// use idem_runtime::{Answer, AnswerBody};
    ///
    /// let answer = Answer::json(201, br#"{"id":1}"#.to_vec());
    /// assert_eq!(answer.body, AnswerBody::Kept(br#"{"id":1}"#.to_vec()));
    /// ```
    #[must_use]
    pub fn json(code: u16, body: Vec<u8>) -> Self {
        Self {
            code,
            headers: Vec::new(),
            content_type: Some("application/json".to_owned()),
            body: AnswerBody::Kept(body),
        }
    }
}

/// The asynchronous effects that a request started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bindings {
    /// The task that the request queued.
    pub task_id: Option<String>,
    /// The outbox event that the request wrote.
    pub outbox_event_id: Option<String>,
}

impl Bindings {
    /// Whether every database can hold them: 1 to 255 bytes each, without control characters.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in [("task_id", &self.task_id), ("outbox_event_id", &self.outbox_event_id)] {
            let Some(value) = value else { continue };
            if value.is_empty() || value.len() > 255 || value.contains(char::is_control) {
                let length = value.len();
                return Err(format!(
                    "its {name} has {length} bytes: 1 to 255 without control characters can be bound"
                ));
            }
        }
        Ok(())
    }
}

/// One row of `idempotency_records`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Tenant, user, route and key: unique.
    pub key: RecordKey,
    /// The sealed fingerprint of the request that began this life.
    pub request_hash: String,
    /// One short keyed hash per top-level member of the request, when the guard has a secret.
    pub request_fields: Option<String>,
    /// Where it stands.
    pub status: Status,
    /// Which attempt owns it, or owned it last.
    pub token: FencingToken,
    /// Grows at every change of the row, so that a claim takes over exactly the row that it judged.
    pub revision: i64,
    /// The recorded answer, if there is one.
    pub answer: Option<Answer>,
    /// Task and outbox event.
    pub bindings: Bindings,
    /// The end of the lease; present exactly while processing.
    pub locked_until: Option<Timestamp>,
    /// The end of the record's life.
    pub expires_at: Timestamp,
    /// The terms of the last claim.
    pub terms: Terms,
    /// Nobody knows whether the effect outside happened; only an operator ends this.
    pub outcome_unknown: bool,
    /// When the claim was released, if it was.
    pub released_at: Option<Timestamp>,
    /// When this life began.
    pub created_at: Timestamp,
    /// When the row last changed.
    pub updated_at: Timestamp,
    /// When it succeeded or failed.
    pub completed_at: Option<Timestamp>,
}

/// A record together with the database's time at which it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The row.
    pub record: Record,
    /// The database's clock when the row was read.
    pub now: Timestamp,
}
