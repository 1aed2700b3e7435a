//! What a caller of the guard can be told, in one table of code, status and text.
//!
//! None of these is ever stored: a refusal leaves the record as it was.

use std::time::Duration;

use crate::encryption::OpenError;
use crate::fingerprint::FingerprintError;
use crate::key::KeyError;
use crate::policy::PolicyError;

/// What a database said; its type is the driver's.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why the guard did not give an answer of the body; `code`, `status` and `is_retryable` say what follows.
///
/// ```
/// use std::time::Duration;
/// use idem_runtime::Error;
///
/// let error = Error::InProgress { retry_after: Duration::from_secs(2) };
/// assert_eq!((error.code(), error.status()), ("IDEMPOTENCY_IN_PROGRESS", 409));
/// assert!(error.is_retryable());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another attempt of the same request is at work. Send the same request again later.
    #[error("another attempt of this request is in progress: send the same request again later")]
    InProgress {
        /// When it is worth trying again: the rest of the other attempt's lease, one to five seconds.
        retry_after: Duration,
    },
    /// An attempt stopped, and nobody knows what it did outside. An operator decides with `idem release`.
    #[error("an earlier attempt stopped and its outcome is not known: an operator has to decide")]
    OutcomeUnknown,
    /// The request failed, no answer of it could be kept, and the route does not retry failures.
    #[error("this request failed before and is not retried: send a new request with a new idempotency key")]
    Failed,
    /// The key was used for another request. Send the old request, or a new key.
    #[error("this idempotency key was used for another request: use a new key for a new request")]
    Conflict {
        /// The top-level members that differ; empty unless the guard has a secret.
        changed: Vec<String>,
    },
    /// The record was written by a version or with a secret that this program does not know.
    #[error("the record of this key was written by another version or with another secret of this service")]
    UnknownFingerprint,
    /// The store did not answer, or refused. Nothing of this request was kept; send it again.
    #[error("the idempotency store is not available: send the same request again later")]
    StoreUnavailable(#[source] Option<Cause>),
    /// As many handlers are at work, and wait to be, as the guard allows. The body has not run; send it again.
    #[error("too many requests are at work: send the same request again later")]
    Overloaded,
    /// The reply to COMMIT was lost and could not be read back. Send the same request again.
    #[error("it is not known whether the request was carried out: send the same request again to find out")]
    CommitUnknown,
    /// The lease ended, another attempt took over, and its record is gone by now. Nothing was kept.
    #[error("another attempt took over and its record is gone: send the same request again")]
    Lost,
    /// The body ended the guard's transaction itself. What it did is not known to be atomic.
    #[error(
        "the body ended the transaction of its mutation: use savepoints inside it, never COMMIT or ROLLBACK"
    )]
    TransactionEnded,
    /// The body reported success although a statement had failed in its transaction. It was rolled back.
    #[error("a statement failed in the transaction of the body, which reported success: it was rolled back")]
    TransactionAborted,
    /// A guarded operation began inside another one of the same guard.
    #[error("a guarded operation began inside another one: {fix}")]
    Nested {
        /// What to do instead.
        fix: &'static str,
    },
    /// The value of the body cannot be kept as the answer, so that a retry could not get it.
    #[error("the answer cannot be recorded: {reason}")]
    AnswerNotRecordable {
        /// Why not.
        reason: String,
    },
    /// The recorded answer cannot be read as the type that this version of the function returns.
    #[error("the recorded answer does not fit the present return type: {reason}")]
    ReplayUnreadable {
        /// What did not fit.
        reason: String,
    },
    /// What is stored is sealed and this guard cannot open it. The body does not run again.
    #[error(transparent)]
    Sealed(#[from] OpenError),
    /// This user began as many new requests as the guard allows in its span of time. The body has not run.
    #[error("this user began too many new requests: send the same request again later")]
    TooManyRequests {
        /// When the next one is let through.
        retry_after: Duration,
    },
    /// The body panicked; it was rolled back where it could be, and recorded as failed.
    #[error("the request failed")]
    Panicked,
    /// A delegating handler answered with success although nothing guarded ran in it.
    #[error(
        "this route says that it passes requests on to a guarded function, and did not: call the function, or declare the route `exempt`"
    )]
    NotClaimed,
    /// The route's policy contradicts itself.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The identity of the request named a tenant or a user that no scope can have. The caller cannot mend it.
    #[error("the identity of this request names no usable scope: {0}")]
    Scope(#[source] KeyError),
    /// The route requires a key and the request has none.
    #[error(
        "this request needs an Idempotency-Key header: send a fresh one with each new request, and the same one with each retry"
    )]
    KeyRequired,
    /// The `Idempotency-Key` header is not one key.
    #[error("the Idempotency-Key header is malformed: {reason}")]
    KeyMalformed {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A part of the key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The request cannot be fingerprinted.
    #[error(transparent)]
    Fingerprint(#[from] FingerprintError),
}

/// The longest `Retry-After` that a refusal names: the twin may finish long before its lease ends.
const LONGEST_RETRY: Duration = Duration::from_secs(5);

/// Why stored JSON cannot be read; serde's own text would show the value that does not fit.
pub(crate) fn misfit(error: &serde_json::Error) -> String {
    let what = if error.is_data() { "JSON of another shape" } else { "no whole JSON" };
    format!("it is {what}, as line {} column {} shows", error.line(), error.column())
}

impl Error {
    /// What is stored and cannot be read as the type that is asked for.
    pub(crate) fn unreadable(error: &serde_json::Error) -> Self {
        Self::ReplayUnreadable { reason: misfit(error) }
    }

    /// The refusal of a duplicate whose twin holds the lease for `left`.
    pub(crate) fn in_progress(left: Duration) -> Self {
        Self::InProgress { retry_after: left.clamp(Duration::from_secs(1), LONGEST_RETRY) }
    }

    /// The code for programs, as it stands in an HTTP problem.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InProgress { .. } => "IDEMPOTENCY_IN_PROGRESS",
            Self::OutcomeUnknown | Self::TransactionEnded => "IDEMPOTENCY_OUTCOME_UNKNOWN",
            Self::Failed => "IDEMPOTENCY_FAILED",
            Self::Conflict { .. } => "IDEMPOTENCY_KEY_CONFLICT",
            Self::KeyRequired => "IDEMPOTENCY_KEY_REQUIRED",
            Self::Key(_) | Self::KeyMalformed { .. } => "IDEMPOTENCY_KEY_INVALID",
            Self::UnknownFingerprint
            | Self::StoreUnavailable(_)
            | Self::Overloaded
            | Self::CommitUnknown
            | Self::Lost => "IDEMPOTENCY_STORE_UNAVAILABLE",
            Self::Fingerprint(_) => "IDEMPOTENCY_REQUEST_INVALID",
            Self::Sealed(_) => "IDEMPOTENCY_ANSWER_SEALED",
            Self::TooManyRequests { .. } => "IDEMPOTENCY_TOO_MANY_REQUESTS",
            Self::Panicked => "IDEMPOTENCY_HANDLER_FAILED",
            Self::TransactionAborted
            | Self::Nested { .. }
            | Self::NotClaimed
            | Self::AnswerNotRecordable { .. }
            | Self::ReplayUnreadable { .. }
            | Self::Scope(_)
            | Self::Policy(_) => "IDEMPOTENCY_MISUSE",
        }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::InProgress { .. } | Self::OutcomeUnknown | Self::Failed => 409,
            Self::Conflict { .. } => 422,
            Self::TooManyRequests { .. } => 429,
            Self::KeyRequired | Self::KeyMalformed { .. } | Self::Key(_) | Self::Fingerprint(_) => 400,
            Self::UnknownFingerprint
            | Self::StoreUnavailable(_)
            | Self::Overloaded
            | Self::CommitUnknown
            | Self::Lost => 503,
            Self::TransactionEnded
            | Self::TransactionAborted
            | Self::Panicked
            | Self::Nested { .. }
            | Self::NotClaimed
            | Self::AnswerNotRecordable { .. }
            | Self::ReplayUnreadable { .. }
            | Self::Sealed(_)
            | Self::Scope(_)
            | Self::Policy(_) => 500,
        }
    }

    /// Whether the very same request may simply be sent again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retry_after().is_some()
    }

    /// When to send the same request again, if that can help.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::InProgress { retry_after } | Self::TooManyRequests { retry_after } => Some(*retry_after),
            Self::UnknownFingerprint
            | Self::StoreUnavailable(_)
            | Self::Overloaded
            | Self::CommitUnknown
            | Self::Lost => Some(Duration::from_secs(1)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_between_one_and_five_seconds() {
        for (left, wanted) in [(0, 1), (3, 3), (900, 5)] {
            let error = Error::in_progress(Duration::from_secs(left));
            assert_eq!(error.retry_after(), Some(Duration::from_secs(wanted)));
        }
    }

    #[test]
    fn only_what_can_change_by_waiting_is_retryable() {
        assert!(Error::StoreUnavailable(None).is_retryable());
        assert!(Error::CommitUnknown.is_retryable());
        for final_error in [Error::Failed, Error::OutcomeUnknown, Error::Conflict { changed: Vec::new() }] {
            assert!(!final_error.is_retryable(), "{final_error}");
        }
    }
}
