//! What happens to guarded requests, counted for the `metrics` facade and marked in spans of `tracing`.
//!
//! Labels have a route or a word of a small closed set, never what a client chooses.

use std::time::Duration;

use ::metrics::{counter, gauge, histogram};

use crate::decision::{ClaimKind, Decision};
use crate::error::Error;
use crate::guard::engine::{Ran, Verdict};
use crate::key::Route;
use crate::record::Status;
use crate::store::Fault;
use crate::telemetry::{
    ATTEMPTS, BODY_SECONDS, IN_FLIGHT, RECLAIMS, RENEWALS, REQUESTS, STORE_FAULTS, STORE_SECONDS, WAITS,
};

/// The span of one request; attempt and outcome are filled in when they are known.
pub(super) fn span(route: &Route) -> tracing::Span {
    tracing::info_span!(
        "idem.request",
        route = route.as_str(),
        attempt = tracing::field::Empty,
        outcome = tracing::field::Empty
    )
}

/// Counts one ended call.
pub(super) fn request<T, E>(span: &tracing::Span, route: &Route, ended: &Result<Ran<T, E>, Error>) {
    let outcome = match ended {
        Ok(Ran::First { .. }) => "succeeded",
        Ok(Ran::Failed { .. }) => "failed",
        Ok(Ran::Recorded(_)) => "replayed",
        Err(error) => refusal(error),
    };
    span.record("outcome", outcome);
    refused_or_ended(route, outcome);
}

/// Counts a call that was refused before it began.
pub(super) fn refused(route: &Route, error: &Error) {
    refused_or_ended(route, refusal(error));
}

fn refused_or_ended(route: &Route, outcome: &'static str) {
    counter!(REQUESTS, "route" => route.to_string(), "outcome" => outcome).increment(1);
}

fn refusal(error: &Error) -> &'static str {
    match error {
        Error::InProgress { .. } => "in_progress",
        Error::Conflict { .. } => "conflict",
        Error::OutcomeUnknown => "outcome_unknown",
        Error::Failed => "failed_before",
        Error::Lost => "lost",
        Error::StoreUnavailable(_) => "store_unavailable",
        Error::CommitUnknown => "commit_unknown",
        Error::Overloaded => "overloaded",
        Error::TooManyRequests { .. } => "too_many_requests",
        _ => "refused",
    }
}

/// How an attempt ended, as the record has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Succeeded,
    Failed,
    Released,
    /// Dropped outside a transaction: its lease was ended.
    Abandoned,
    Unknown,
    /// Another attempt had taken over.
    Lost,
    /// The database did not take it: the lease will lapse.
    Unwritten,
}

/// Counts one ended attempt.
pub(super) fn attempt(route: &Route, ended: Ended) {
    let ending = match ended {
        Ended::Succeeded => "succeeded",
        Ended::Failed => "failed",
        Ended::Released => "released",
        Ended::Abandoned => "abandoned",
        Ended::Unknown => "unknown",
        Ended::Lost => "lost",
        Ended::Unwritten => "unwritten",
    };
    counter!(ATTEMPTS, "route" => route.to_string(), "ending" => ending).increment(1);
}

/// Counts a record that was taken over when its `status` was this.
pub(super) fn reclaim(route: &Route, kind: ClaimKind, status: Status) {
    let reason = match (kind, status) {
        (ClaimKind::Anew | ClaimKind::Insert, _) => "expired",
        (ClaimKind::Recover, _) => "recover",
        (ClaimKind::Again, Status::Processing) => "lapsed",
        (ClaimKind::Again, _) => "retry",
    };
    counter!(RECLAIMS, "route" => route.to_string(), "reason" => reason).increment(1);
}

/// Counts a wait that ended in this decision, or without one: at its deadline, or when the record went.
pub(super) fn wait(route: &Route, decision: Option<&Decision>, in_time: bool) {
    let ended = match decision {
        Some(Decision::Replay) => "answered",
        Some(Decision::Claim(_)) => "free",
        None if in_time => "free",
        Some(Decision::InProgress { .. }) | None => "timed_out",
        Some(_) => "refused",
    };
    counter!(WAITS, "route" => route.to_string(), "ended" => ended).increment(1);
}

/// What became of one renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Renewed {
    Done,
    Lost,
    Failed,
    /// The body runs longer than `max_run`: no renewal follows.
    Exhausted,
}

/// Counts one renewal.
pub(super) fn renewal(route: &Route, renewed: Renewed) {
    let result = match renewed {
        Renewed::Done => "renewed",
        Renewed::Lost => "lost",
        Renewed::Failed => "failed",
        Renewed::Exhausted => "exhausted",
    };
    counter!(RENEWALS, "route" => route.to_string(), "result" => result).increment(1);
}

/// Notes how long a body ran.
pub(super) fn body<T, E>(route: &Route, verdict: &std::thread::Result<Verdict<T, E>>, took: Duration) {
    let result = match verdict {
        Ok(Verdict::Succeeded { .. }) => "succeeded",
        Ok(Verdict::Failed { .. }) => "failed",
        Ok(Verdict::Released { .. }) => "released",
        Ok(Verdict::NotRecordable { .. }) => "not_recordable",
        Err(_) => "panicked",
    };
    histogram!(BODY_SECONDS, "route" => route.to_string(), "result" => result).record(took);
}

/// Counts a claimed record until it is dropped.
pub(super) struct InFlight(::metrics::Gauge);

impl InFlight {
    pub(super) fn new(route: &Route) -> Self {
        let gauge = gauge!(IN_FLIGHT, "route" => route.to_string());
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// Why the database did not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// It did not answer in time, or had no connection.
    Timeout,
    Fault(Fault),
}

/// One thing that is asked of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statement {
    /// A connection of the pool.
    Acquire,
    /// The turn to write, on a database with one writer.
    Turn,
    Read,
    /// The locking read after a lost commit.
    ReadBack,
    Claim,
    TakeOver,
    Begin,
    Check,
    Complete,
    Commit,
    Rollback,
    Fail,
    Release,
    Renew,
    EndLease,
    MarkUnknown,
    Bind,
    KeepSteps,
    /// Any of the outbox.
    Outbox,
    /// The lease of the maintenance.
    Maintain,
    Expire,
    Purge,
    /// The numbers of answers.
    Traffic,
}

impl Statement {
    fn as_str(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Turn => "turn",
            Self::Read => "read",
            Self::ReadBack => "read_back",
            Self::Claim => "claim",
            Self::TakeOver => "take_over",
            Self::Begin => "begin",
            Self::Check => "check",
            Self::Complete => "complete",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::Fail => "fail",
            Self::Release => "release",
            Self::Renew => "renew",
            Self::EndLease => "end_lease",
            Self::MarkUnknown => "mark_unknown",
            Self::Bind => "bind",
            Self::KeepSteps => "keep_steps",
            Self::Outbox => "outbox",
            Self::Maintain => "maintain",
            Self::Expire => "expire",
            Self::Purge => "purge",
            Self::Traffic => "traffic",
        }
    }

    /// Notes how long it took, and how it failed if it did.
    pub(super) fn took(self, took: Duration, failed: Option<Failure>) {
        histogram!(STORE_SECONDS, "operation" => self.as_str()).record(took);
        if let Some(failure) = failed {
            let fault = match failure {
                Failure::Timeout => "timeout",
                Failure::Fault(Fault::Again) => "again",
                Failure::Fault(Fault::Locked) => "locked",
                Failure::Fault(Fault::Refused) => "refused",
                Failure::Fault(Fault::Aborted) => "aborted",
                Failure::Fault(Fault::Unknown) => "unknown",
            };
            counter!(STORE_FAULTS, "operation" => self.as_str(), "fault" => fault).increment(1);
        }
    }
}
