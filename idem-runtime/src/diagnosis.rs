//! What the next request with a key would get, and why: a pure function of its record, for operators.

use std::fmt;
use std::time::Duration;

use crate::decision::{ClaimKind, Decision, decide};
use crate::error::Error;
use crate::fingerprint::Comparison;
use crate::policy::{Mode, OnLapse, Terms};
use crate::record::{Record, Status, Timestamp};

/// Where a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// There is no record.
    Missing,
    /// It succeeded, and the answer is kept.
    Replayable,
    /// The key was used for another request.
    RequestHashConflict,
    /// An attempt is at work and holds the lease.
    InProgress,
    /// An attempt stopped without an outcome, and another may follow.
    LeaseLapsed,
    /// An attempt stopped, nobody knows what it did outside, and an operator must decide.
    OutcomeUnknown,
    /// It failed for good: to try again takes a new key.
    FailedRetryRequired,
    /// It failed, and the same key may try again.
    FailedRetryable,
    /// The claim was given back: the same request may try again.
    Released,
    /// The life of the record is over: the next request begins anew.
    ExpiredReusable,
    /// The recorded fingerprint is of a version or secret that cannot be read.
    UnknownFingerprint,
}

impl Verdict {
    /// The word for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Replayable => "replayable",
            Self::RequestHashConflict => "request_hash_conflict",
            Self::InProgress => "in_progress",
            Self::LeaseLapsed => "lease_lapsed",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::FailedRetryRequired => "failed_retry_required",
            Self::FailedRetryable => "failed_retryable",
            Self::Released => "released",
            Self::ExpiredReusable => "expired_reusable",
            Self::UnknownFingerprint => "unknown_fingerprint",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the next request would get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It runs as this attempt, and its answer is its own.
    Runs {
        /// The number of the attempt.
        attempt: i64,
    },
    /// It claims, and the provider is asked first: what that knows is recorded and given, what it never got runs,
    /// and where it cannot say the request is refused as [`Verdict::OutcomeUnknown`].
    Asks {
        /// The number of the attempt.
        attempt: i64,
    },
    /// It gets the recorded answer.
    Replays {
        /// The HTTP status.
        status: u16,
    },
    /// It is refused.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The code of the problem.
        code: &'static str,
        /// The seconds in `Retry-After`, where the same request may be sent again.
        retry_after: Option<u64>,
    },
}

/// Where a key stands, what the next request would get, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// Where the key stands.
    pub verdict: Verdict,
    /// What the next request would get.
    pub next: Next,
    /// Why, in one sentence.
    pub reason: &'static str,
    /// How long the next request would wait for the attempt at work before it is refused.
    pub waits: Duration,
}

/// Only looked at when there is a record, whose own terms then take its place.
const NO_TERMS: Terms = Terms {
    mode: Mode::Transactional,
    on_lapse: OnLapse::Rerun,
    retry_failed: false,
    ttl: Duration::ZERO,
    lease: Duration::ZERO,
    wait: Duration::ZERO,
    max_run: Duration::ZERO,
};

/// Says what the next request with the key of `record` gets at the database's time `now`.
///
/// It asks [`decide`], as the guard does, under the terms that the record carries. A route whose terms have
/// changed since its last claim may decide otherwise. `compare` holds the request's fingerprint against the
/// recorded one; without a request, assume [`Comparison::Same`]. See [`compare_hashes`].
///
/// ```
/// use idem_runtime::{Comparison, Next, Timestamp, Verdict, diagnose};
///
/// let diagnosis = diagnose(None, |_| Comparison::Same, Timestamp::from_micros(0));
/// assert_eq!(diagnosis.verdict, Verdict::Missing);
/// assert_eq!(diagnosis.next, Next::Runs { attempt: 1 });
/// ```
pub fn diagnose(
    record: Option<&Record>,
    compare: impl FnOnce(&str) -> Comparison,
    now: Timestamp,
) -> Diagnosis {
    let terms = record.map_or(NO_TERMS, |record| record.terms);
    let decision = decide(record, compare, &terms, now);
    let verdict = verdict(decision, record);
    let attempt = record.map_or(1, |record| record.token.attempt + 1);
    let next = match decision {
        Decision::Claim(ClaimKind::Recover) => Next::Asks { attempt },
        Decision::Claim(_) => Next::Runs { attempt },
        Decision::Replay => Next::Replays {
            status: record.and_then(|record| record.answer.as_ref()).map_or(200, |answer| answer.code),
        },
        Decision::InProgress { until } => refused(&Error::in_progress(now.until(until))),
        Decision::OutcomeUnknown => refused(&Error::OutcomeUnknown),
        Decision::Failed => refused(&Error::Failed),
        Decision::Conflict => refused(&Error::Conflict { changed: Vec::new() }),
        Decision::UnknownFingerprint => refused(&Error::UnknownFingerprint),
    };
    let waits = if verdict == Verdict::InProgress { terms.wait } else { Duration::ZERO };
    Diagnosis { verdict, next, reason: reason(decision, record), waits }
}

/// Holds two stored request hashes against each other: that of a record and that of a request.
///
/// `None` when different secrets sealed them, which says nothing about the requests; a guard that has both
/// secrets can compare the request itself.
///
/// ```
/// use idem_runtime::{Comparison, compare_hashes};
///
/// let [a, b] = ["a", "b"].map(|digit| format!("v1:k1:{}", digit.repeat(64)));
/// assert_eq!(compare_hashes(&a, &a), Some(Comparison::Same));
/// assert_eq!(compare_hashes(&a, &b), Some(Comparison::Different));
/// assert_eq!(compare_hashes(&a, &a.replace("k1", "k2")), None);
/// assert_eq!(compare_hashes("v9:-:00", &a), Some(Comparison::Unknown));
/// ```
#[must_use]
pub fn compare_hashes(recorded: &str, requested: &str) -> Option<Comparison> {
    let Some(recorded_parts) = parts(recorded) else { return Some(Comparison::Unknown) };
    let requested_parts = parts(requested)?;
    (recorded_parts.0 == requested_parts.0)
        .then(|| if recorded_parts == requested_parts { Comparison::Same } else { Comparison::Different })
}

/// Secret and digest of a hash of the version that this program knows.
fn parts(hash: &str) -> Option<(&str, &str)> {
    let (secret, digest) = hash.strip_prefix("v1:")?.split_once(':')?;
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (digest.len() == 64 && digest.bytes().all(hex)).then_some((secret, digest))
}

fn refused(error: &Error) -> Next {
    let retry_after = error.retry_after().map(|after| after.as_secs().max(1));
    Next::Refused { status: error.status(), code: error.code(), retry_after }
}

fn verdict(decision: Decision, record: Option<&Record>) -> Verdict {
    let failed = record.is_some_and(|record| record.status == Status::Failed);
    let released = record.is_some_and(|record| record.released_at.is_some());
    match decision {
        Decision::Claim(ClaimKind::Insert) => Verdict::Missing,
        Decision::Claim(ClaimKind::Anew) => Verdict::ExpiredReusable,
        Decision::Claim(ClaimKind::Again) if released => Verdict::Released,
        Decision::Claim(ClaimKind::Again) if failed => Verdict::FailedRetryable,
        Decision::Claim(ClaimKind::Again | ClaimKind::Recover) => Verdict::LeaseLapsed,
        Decision::Replay if failed => Verdict::FailedRetryRequired,
        Decision::Replay => Verdict::Replayable,
        Decision::InProgress { .. } => Verdict::InProgress,
        Decision::OutcomeUnknown => Verdict::OutcomeUnknown,
        Decision::Failed => Verdict::FailedRetryRequired,
        Decision::Conflict => Verdict::RequestHashConflict,
        Decision::UnknownFingerprint => Verdict::UnknownFingerprint,
    }
}

fn reason(decision: Decision, record: Option<&Record>) -> &'static str {
    let marked = record.is_some_and(|record| record.outcome_unknown);
    let transactional = record.is_some_and(|record| record.terms.mode == Mode::Transactional);
    match (decision, verdict(decision, record)) {
        (_, Verdict::Missing) => "No record has this tenant, user, route and key, so the request runs.",
        (_, Verdict::ExpiredReusable) => {
            "The record is past its life, so the key may be used anew, also by another request."
        }
        (_, Verdict::Released) => "The claim was given back, so the same request may try again.",
        (_, Verdict::FailedRetryable) => {
            "The last attempt failed, and the route lets the same key try again."
        }
        (Decision::Claim(ClaimKind::Recover), _) => {
            "The last attempt stopped outside, so the route asks the provider before it runs again."
        }
        (_, Verdict::LeaseLapsed) if transactional => {
            "The last attempt stopped before its commit and left no effects, so the request runs."
        }
        (_, Verdict::LeaseLapsed) => {
            "The last attempt stopped outside, and the route runs again; the provider sees the same derived key."
        }
        (Decision::Replay, Verdict::FailedRetryRequired) => {
            "It failed, and the route gives the recorded failure again: to try once more takes a new key or a release."
        }
        (_, Verdict::FailedRetryRequired) => {
            "It failed without an answer that could be kept: to try once more takes a new key or a release."
        }
        (_, Verdict::Replayable) => "It succeeded, so the request gets the recorded answer.",
        (_, Verdict::InProgress) => "An attempt is at work and holds the lease.",
        (_, Verdict::OutcomeUnknown) if marked => {
            "The last attempt could not tell whether its effect happened, so nothing runs until an operator releases it."
        }
        (_, Verdict::OutcomeUnknown) => {
            "The last attempt stopped outside, and the route does not run again until an operator releases it."
        }
        (_, Verdict::RequestHashConflict) => {
            "The key was used for another request, and that record is not over."
        }
        (_, Verdict::UnknownFingerprint) => {
            "The recorded fingerprint is of a version or secret that cannot be read, so nothing runs."
        }
    }
}

#[cfg(test)]
mod tests;
