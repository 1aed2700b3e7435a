//! Writes down how many answers were given, each process for itself.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::guard::{Inner, Statement};
use crate::store::{Maintain, StoreResult};

pub(super) struct Writer<S: Maintain> {
    inner: Arc<Inner<S>>,
    interval: Duration,
    stop: CancellationToken,
}

impl<S: Maintain> Writer<S> {
    /// From now on the guard counts.
    pub(super) fn new(inner: Arc<Inner<S>>, interval: Duration, stop: CancellationToken) -> Self {
        inner.tally.begin();
        Self { inner, interval, stop }
    }

    /// Writes in each interval, and once more when it is stopped.
    pub(super) async fn run(self) {
        loop {
            // Processes that start together do not write together.
            let rest = self.interval.mul_f64(0.75 + fastrand::f64() / 2.0);
            let stopped = tokio::time::timeout(rest, self.stop.cancelled()).await.is_ok();
            if let Err(error) = self.write().await {
                tracing::warn!(%error, "the numbers of answers could not be written down; they are kept");
            }
            if stopped {
                return;
            }
        }
    }

    /// One statement for each route; what is not reached is kept for the next time.
    async fn write(&self) -> StoreResult<()> {
        let inner = &self.inner;
        let _alone = inner.tally.alone().await;
        for traffic in inner.tally.unwritten() {
            let mut lane = inner.lane().await?;
            let connection = lane.connection(inner).await?;
            let added = inner.timed(Statement::Traffic, S::add_traffic(connection, &traffic)).await;
            if let Err(error) = &added {
                lane.doubt(error);
            }
            added?;
            inner.tally.written(&traffic);
        }
        Ok(())
    }
}
