//! What became of each guarded request, counted for the `metrics` facade; docs/metrics.md lists the names.

use crate::error::Error;
use crate::guard::engine::Ran;
use crate::key::Route;

/// Guarded requests by route and outcome.
const REQUESTS: &str = "idem_requests_total";

/// Counts one ended call. Route and outcome are the only labels: neither has a value that a client chooses.
pub(super) fn count<T, E>(route: &Route, ended: &Result<Ran<T, E>, Error>) {
    let outcome = match ended {
        Ok(Ran::First { .. }) => "succeeded",
        Ok(Ran::Failed { .. }) => "failed",
        Ok(Ran::Recorded(_)) => "replayed",
        Err(error) => refusal(error),
    };
    metrics::counter!(REQUESTS, "route" => route.to_string(), "outcome" => outcome).increment(1);
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
        _ => "refused",
    }
}
