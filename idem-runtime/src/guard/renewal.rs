//! Renews a lease while its body runs, from a connection of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument;

use crate::guard::Inner;
use crate::guard::counted::{self, Renewed};
use crate::guard::lane::{Change, Tries, Written};
use crate::policy::Mode;
use crate::record::{FencingToken, Reading};
use crate::store::{NewClaim, Store};

/// Renews until it is dropped. It stops between statements, never inside one.
pub(super) struct Renewal {
    stop: DropGuard,
    task: tokio::task::JoinHandle<()>,
}

impl Renewal {
    /// Stops and waits until no renewal is under way: none lands after what is written next.
    pub(super) async fn stop(self) {
        drop(self.stop);
        let _ = self.task.await;
    }
}

impl Renewal {
    /// Starts to renew the lease of `claimed`, or not where that is impossible or needless.
    pub(super) fn start<S: Store>(
        inner: &Arc<Inner<S>>,
        claim: &NewClaim,
        claimed: &Reading,
    ) -> Option<Self> {
        let terms = claim.terms;
        let lease = claimed.record.locked_until.map_or(Duration::ZERO, |end| claimed.now.until(end));
        let transactional = terms.mode == Mode::Transactional;
        // The only writer is ourselves; or the only connection is in use by the body.
        let impossible =
            transactional && (S::SINGLE_WRITER || inner.pool.options().get_max_connections() < 2);
        if impossible || lease >= terms.max_run {
            return None;
        }
        let stop = CancellationToken::new();
        let (inner, claim, token) = (Arc::clone(inner), claim.clone(), claimed.record.token);
        let stopped = stop.clone();
        let renewing = async move { renew(&inner, &claim, token, &stopped).await };
        let task = tokio::spawn(renewing.in_current_span());
        Some(Self { stop: stop.drop_guard(), task })
    }
}

async fn renew<S: Store>(
    inner: &Inner<S>,
    claim: &NewClaim,
    token: FencingToken,
    stopped: &CancellationToken,
) {
    let (terms, route) = (&claim.terms, claim.key.route());
    let end = Instant::now() + terms.max_run;
    loop {
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            () = tokio::time::sleep(terms.lease / 3) => {}
        }
        // The last renewal ends with max_run, not a lease after it.
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            counted::renewal(route, Renewed::Exhausted);
            tracing::warn!(%route, "a body runs longer than max_run: its lease will lapse");
            return;
        }
        let change = Change::Renew(terms.lease.min(left.max(Duration::from_millis(1))));
        let written = match inner.lane().await {
            Ok(mut lane) => lane.write(inner, &claim.key, token, &change, Tries::once()).await,
            Err(error) => Err(error),
        };
        match written {
            Ok(Written::Done(_)) => counted::renewal(route, Renewed::Done),
            Ok(Written::Lost) => return counted::renewal(route, Renewed::Lost),
            Err(error) => {
                counted::renewal(route, Renewed::Failed);
                tracing::warn!(%error, "a lease could not be renewed");
            }
        }
    }
}
