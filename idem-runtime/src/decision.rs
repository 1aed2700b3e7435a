//! The one place that says what a request gets when it meets a record.
//!
//! `decide` is a pure function; the stores only carry out what it says, and only on the very row that it
//! judged. Every condition here stays true as time passes and the row stays the same, which is why a
//! claim may follow a decision without looking at the clock again.

use crate::fingerprint::Comparison;
use crate::policy::{Mode, OnLapse, Terms};
use crate::record::{Record, Status, Timestamp};

/// What the next step of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Take the record over and run.
    Claim(ClaimKind),
    /// Give the recorded answer, a success or a failure.
    Replay,
    /// Another attempt owns it until that moment.
    InProgress {
        /// The end of the other attempt's lease.
        until: Timestamp,
    },
    /// An attempt stopped and nobody knows what it did outside.
    OutcomeUnknown,
    /// It failed, no answer could be kept, and failures are not retried.
    Failed,
    /// The key was used for another request.
    Conflict,
    /// The record's fingerprint is of a version or secret that this program does not know.
    UnknownFingerprint,
}

/// Which kind of claim it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimKind {
    /// There was no record.
    Insert,
    /// The record's life is over: a new one begins, with the new request's fingerprint.
    Anew,
    /// The same request tries again: the next attempt of the same life.
    Again,
    /// As `Again`, but the provider is asked first whether the last attempt reached it.
    Recover,
}

/// Says what a request under `terms` gets from `record` at the database's time `now`.
///
/// `compare` holds the request's fingerprint against the sealed one of a record.
///
/// ```
/// use idem_runtime::{decide, ClaimKind, Comparison, Decision, Defaults, Mode, Policy, Timestamp};
///
/// let terms = Policy::new("orders.create")?.terms(Mode::Transactional, &Defaults::default())?;
/// let decision = decide(None, |_| Comparison::Same, &terms, Timestamp::from_micros(0));
/// assert_eq!(decision, Decision::Claim(ClaimKind::Insert));
/// # Ok::<(), idem_runtime::PolicyError>(())
/// ```
pub fn decide(
    record: Option<&Record>,
    compare: impl FnOnce(&str) -> Comparison,
    terms: &Terms,
    now: Timestamp,
) -> Decision {
    let Some(record) = record else {
        return Decision::Claim(ClaimKind::Insert);
    };
    if is_over(record, now) {
        return Decision::Claim(ClaimKind::Anew);
    }
    match compare(&record.request_hash) {
        Comparison::Same => same_request(record, terms, now),
        Comparison::Different => Decision::Conflict,
        Comparison::Unknown => Decision::UnknownFingerprint,
    }
}

/// Whether the record's life has ended, so that anybody may begin a new one.
///
/// A lapsed external attempt that was not declared `rerun` is kept: its outcome is not known.
#[must_use]
pub fn is_over(record: &Record, now: Timestamp) -> bool {
    let undecided = record.outcome_unknown
        || record.status == Status::Processing
            && (lease_end(record) > now
                || record.terms.mode == Mode::External && record.terms.on_lapse != OnLapse::Rerun);
    record.status == Status::Expired || record.expires_at <= now && !undecided
}

/// The end of the lease; a processing row without one counts as owned for its whole life.
fn lease_end(record: &Record) -> Timestamp {
    record.locked_until.unwrap_or(record.expires_at)
}

fn same_request(record: &Record, terms: &Terms, now: Timestamp) -> Decision {
    match record.status {
        Status::Expired => Decision::Claim(ClaimKind::Anew),
        Status::Succeeded => Decision::Replay,
        Status::Failed if record.released_at.is_some() || terms.retry_failed => {
            Decision::Claim(ClaimKind::Again)
        }
        Status::Failed if record.answer.is_some() => Decision::Replay,
        Status::Failed => Decision::Failed,
        Status::Processing if record.outcome_unknown => Decision::OutcomeUnknown,
        Status::Processing if lease_end(record) > now => Decision::InProgress { until: lease_end(record) },
        Status::Processing => lapsed(record, terms),
    }
}

/// A lapsed attempt is judged by the stricter of what it promised and what the code says now.
fn lapsed(record: &Record, terms: &Terms) -> Decision {
    if record.terms.mode == Mode::Transactional {
        return Decision::Claim(ClaimKind::Again);
    }
    match record.terms.on_lapse.stricter(terms.on_lapse) {
        OnLapse::Rerun => Decision::Claim(ClaimKind::Again),
        OnLapse::Recover if terms.on_lapse == OnLapse::Recover => Decision::Claim(ClaimKind::Recover),
        OnLapse::Recover | OnLapse::Refuse => Decision::OutcomeUnknown,
    }
}

#[cfg(test)]
mod tests;
