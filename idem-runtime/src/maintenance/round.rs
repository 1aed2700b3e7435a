//! One round after the other: take the lease, delete, expire, rest.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::metrics::counter;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Maintenance;
use crate::guard::{Inner, Statement};
use crate::store::{Maintain, StoreResult};
use crate::telemetry::{MAINTENANCE_ROUNDS, SWEPT};

/// How many days the numbers of answers are kept, today included.
const DAYS: u32 = 30;

/// What one statement should take at most, so that nobody waits long behind it.
const TARGET: Duration = Duration::from_millis(50);

/// How far back a sweep looks behind the round before: longer than bodies run past the end that was foreseen.
const OVERLAP: Duration = Duration::from_hours(1);

/// How a round ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// All that was due is done.
    Swept,
    /// Another process sweeps, or has just done so.
    Taken,
    /// The handle was dropped or shut down.
    Stopped,
}

impl Ended {
    fn as_str(self) -> &'static str {
        match self {
            Self::Swept => "swept",
            Self::Taken => "taken",
            Self::Stopped => "stopped",
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Sweep {
    Purge,
    Expire,
}

pub(super) struct Sweeper<S: Maintain> {
    inner: Arc<Inner<S>>,
    options: Maintenance,
    stop: CancellationToken,
    /// Who this is to the lease.
    holder: Uuid,
    /// Until when the lease is ours by our own clock, which decides only when to ask again.
    held: Option<Instant>,
    /// When the last complete round began.
    complete: Option<Instant>,
    /// How many records the next statement changes at most.
    batch: u32,
}

impl<S: Maintain> Sweeper<S> {
    pub(super) fn new(inner: Arc<Inner<S>>, options: Maintenance, stop: CancellationToken) -> Self {
        let batch = options.batch;
        Self { inner, options, stop, holder: Uuid::new_v4(), held: None, complete: None, batch }
    }

    pub(super) async fn run(mut self) {
        // Processes that start together do not sweep together.
        let mut rest = self.options.interval.mul_f64(fastrand::f64());
        while self.sleep(rest).await {
            rest = self.options.interval.mul_f64(0.75 + fastrand::f64() / 2.0);
            let result = match self.round().await {
                Ok(ended) => ended.as_str(),
                Err(error) => {
                    tracing::warn!(%error, "a round of the maintenance failed; the next one tries again");
                    "failed"
                }
            };
            counter!(MAINTENANCE_ROUNDS, "result" => result).increment(1);
        }
        if self.held.is_some()
            && let Err(error) = self.hold(Duration::ZERO).await
        {
            tracing::warn!(%error, "the lease of the maintenance could not be given back; it will lapse");
        }
    }

    /// Sleeps; `false` when it is time to stop.
    async fn sleep(&self, time: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            () = tokio::time::sleep(time) => true,
        }
    }

    async fn round(&mut self) -> StoreResult<Ended> {
        if !self.hold(self.options.lease).await? {
            return Ok(Ended::Taken);
        }
        let begin = Instant::now();
        // What is deleted need not be marked before.
        for sweep in [Sweep::Purge, Sweep::Expire] {
            loop {
                if self.is_late() && !self.hold(self.options.lease).await? {
                    return Ok(Ended::Taken);
                }
                let (size, begin) = (self.batch, Instant::now());
                let count = self.sweep(sweep).await?;
                let took = begin.elapsed();
                self.fit(took);
                if count < u64::from(size) {
                    break;
                }
                if !self.sleep(self.pause(took)).await {
                    return Ok(Ended::Stopped);
                }
            }
        }
        self.forget().await?;
        self.complete = Some(begin);
        // Nobody need look again before the next round is due.
        self.hold(self.options.interval).await?;
        Ok(Ended::Swept)
    }

    /// As long after a batch as makes it the agreed share of the time.
    fn pause(&self, took: Duration) -> Duration {
        let pause = took.mul_f64((1.0 - self.options.share) / self.options.share);
        pause.min(self.options.lease / 4)
    }

    /// Smaller statements while they take long, larger ones while they do not.
    fn fit(&mut self, took: Duration) {
        self.batch = if took > TARGET {
            (self.batch / 2).max(1)
        } else if took < TARGET / 2 {
            self.batch.saturating_mul(2).min(self.options.batch)
        } else {
            self.batch
        };
    }

    /// Whether a third of the lease has passed.
    fn is_late(&self) -> bool {
        self.held.is_none_or(|until| until < Instant::now() + self.options.lease * 2 / 3)
    }

    async fn hold(&mut self, lease: Duration) -> StoreResult<bool> {
        let (begin, holder) = (Instant::now(), self.holder);
        let mut lane = self.inner.lane().await?;
        let connection = lane.connection(&self.inner).await?;
        let held = self.inner.timed(Statement::Maintain, S::hold(connection, holder, lease)).await;
        if let Err(error) = &held {
            lane.doubt(error);
        }
        let held = held?;
        self.held = held.then(|| begin + lease);
        Ok(held)
    }

    /// Drops the numbers of days that are long gone.
    async fn forget(&self) -> StoreResult<()> {
        let mut lane = self.inner.lane().await?;
        let connection = lane.connection(&self.inner).await?;
        let forgotten = self.inner.timed(Statement::Traffic, S::forget_traffic(connection, DAYS)).await;
        if let Err(error) = &forgotten {
            lane.doubt(error);
        }
        forgotten
    }

    /// One statement, on a connection and in a turn of its own.
    async fn sweep(&self, sweep: Sweep) -> StoreResult<u64> {
        let (inner, keep_for) = (&self.inner, self.options.keep_for);
        let mut lane = inner.lane().await?;
        let connection = lane.connection(inner).await?;
        let (swept, word) = match sweep {
            Sweep::Purge => {
                let purging = S::purge(connection, keep_for, self.batch);
                (inner.timed(Statement::Purge, purging).await, "purge")
            }
            Sweep::Expire => {
                let since = self.complete.map_or(keep_for, |complete| complete.elapsed());
                let expiring = S::expire_since(connection, since + OVERLAP, self.batch);
                (inner.timed(Statement::Expire, expiring).await, "expire")
            }
        };
        if let Err(error) = &swept {
            lane.doubt(error);
        }
        let count = swept?.count;
        if count > 0 {
            counter!(SWEPT, "sweep" => word).increment(count);
        }
        Ok(count)
    }
}
