//! Sweeps in the background: expires and deletes records whose life is over, one process at a time.
//!
//! It stays out of the way of requests: small batches, and after each one a pause in proportion to the time that
//! it took, so that a database that is slow is left alone for longer.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::guard::IdempotencyMutationGuard;
use crate::store::Maintain;

mod round;
mod traffic;

use round::Sweeper;
use traffic::Writer;

/// How the maintenance works; see [`IdempotencyMutationGuard::spawn_maintenance`].
///
/// ```
/// use std::time::Duration;
/// use idem_runtime::Maintenance;
///
/// let a_week_for_questions = Maintenance::new().keep_for(Duration::from_hours(7 * 24)).batch(200);
/// ```
#[derive(Debug, Clone)]
#[must_use = "it does nothing until it is given to `spawn_maintenance`"]
pub struct Maintenance {
    interval: Duration,
    keep_for: Duration,
    batch: u32,
    share: f64,
    lease: Duration,
}

impl Default for Maintenance {
    fn default() -> Self {
        let minute = Duration::from_mins(1);
        Self { interval: minute, keep_for: Duration::from_hours(24), batch: 500, share: 0.2, lease: minute }
    }
}

impl Maintenance {
    /// Each setting as its method says.
    pub fn new() -> Self {
        Self::default()
    }

    /// The time between two rounds, give or take a quarter by chance; one minute unless set, 1 ms at least.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval.max(Duration::from_millis(1));
        self
    }

    /// How long a record stays, marked as expired, after the end of its life; a day unless set.
    ///
    /// No promise hangs on it: it is there for operators who ask what became of a request.
    pub fn keep_for(mut self, keep_for: Duration) -> Self {
        self.keep_for = keep_for;
        self
    }

    /// How many records one statement changes at most; 500 unless set, 1 at least.
    ///
    /// A statement that takes more than 50 ms makes the next ones smaller.
    pub fn batch(mut self, records: u32) -> Self {
        self.batch = records.max(1);
        self
    }

    /// The part of the time in which a round keeps the database busy, from 0.01 to 1; 0.2 unless set.
    pub fn share(mut self, share: f64) -> Self {
        self.share = if share.is_nan() { 0.2 } else { share.clamp(0.01, 1.0) };
        self
    }

    /// How soon another process takes over from one that was killed; one minute unless set, 1 s at least.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_secs(1));
        self
    }
}

impl<S: Maintain> IdempotencyMutationGuard<S> {
    /// Expires and deletes records in the background, and writes down how many answers each route gave, until the
    /// handle is dropped or shut down.
    ///
    /// Call it in each process: of all guards over one database one sweeps at a time, held by a lease in the
    /// table `idempotency_maintenance`. Records under a lease, of an unknown outcome, and stopped attempts outside
    /// that may not simply run again are left alone. An error is logged and counted, and the next round tries again.
    ///
    /// Each guard counts its own answers from the first call on, and adds them to the table `idempotency_traffic` in
    /// each interval, where `idem stats` finds them for 30 days.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use idem_runtime::{Maintenance, sqlite::Guard};
    ///
    /// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    /// let guard = Guard::builder(pool).migrate().build().await?;
    /// let maintenance = guard.spawn_maintenance(Maintenance::new());
    /// // ... serve requests, then:
    /// maintenance.shutdown().await;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    #[must_use = "dropped, the handle stops the maintenance"]
    pub fn spawn_maintenance(&self, maintenance: Maintenance) -> MaintenanceHandle {
        let stop = CancellationToken::new();
        let writer = Writer::new(Arc::clone(&self.0), maintenance.interval, stop.clone());
        let sweeper = Sweeper::new(Arc::clone(&self.0), maintenance, stop.clone());
        let work = async move {
            tokio::join!(sweeper.run(), writer.run());
        };
        MaintenanceHandle { stop, task: Some(tokio::spawn(work)) }
    }
}

/// The maintenance at work; dropped, it stops without being waited for.
#[derive(Debug)]
pub struct MaintenanceHandle {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl MaintenanceHandle {
    /// Stops after the statement that is under way, writes down the last answers, and gives the lease back for
    /// another process.
    ///
    /// Call it after [`drain`](IdempotencyMutationGuard::drain), or what is answered in between is not counted.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the maintenance did not end by itself");
        }
    }
}

impl Drop for MaintenanceHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
