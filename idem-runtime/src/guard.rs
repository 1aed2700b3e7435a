//! The guard: one claim's life, from the first look at the record to the answer.
//!
//! It claims atomically, runs the body once, records what came of it and replays that. Whatever happens to
//! the caller in between, the record ends in a state from which the next request goes the right way.

#[cfg(feature = "axum")]
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[cfg(feature = "axum")]
use futures_util::FutureExt;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::encryption::Sealing;
use crate::error::Error;
use crate::fingerprint::Keyring;
#[cfg(feature = "axum")]
use crate::guard::uninterrupted::Uninterrupted;
use crate::key::{IdempotencyKey, RecordKey, Scope};
use crate::mutation::{Mutation, Publishing};
use crate::policy::{Defaults, Policy};
#[cfg(feature = "axum")]
use crate::record::Answer;
use crate::record::Reading;
use crate::store::Store;

mod allowance;
mod announce;
mod builder;
mod claim;
mod counted;
mod engine;
mod external;
mod fenced;
mod held;
mod kept;
mod lane;
mod nesting;
mod obtain;
mod operation;
mod places;
mod recovery;
mod renewal;
mod request;
mod seen;
mod settle;
mod steps;
mod tally;
mod uninterrupted;
mod waiters;

pub use builder::{BuildError, GuardBuilder};
#[cfg(feature = "axum")]
pub(crate) use claim::Call;
pub(crate) use counted::Statement;
pub use engine::Verdict;
#[cfg(feature = "axum")]
pub(crate) use engine::{Ran, run_in_transaction, run_outside};
pub use external::{Claim, DownstreamKey};
pub(crate) use fenced::Fence;
pub(crate) use lane::Lane;
#[cfg(feature = "axum")]
pub(crate) use nesting::watched;
pub use operation::{Operation, Outcome, Recordable, Success};
pub use recovery::Recovery;
pub use request::{Idempotency, Own, Request};
pub use steps::Steps;
#[cfg(feature = "axum")]
pub(crate) use uninterrupted::Begun;

/// Makes a guarded body run once per tenant, user, route and key. Cheap to clone.
///
/// Each database has its own alias: `idem_runtime::sqlite::Guard`,
/// `idem_runtime::postgres::Guard`, `idem_runtime::mysql::Guard`.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use idem_runtime::sqlite::{Guard, Mutation};
/// use idem_runtime::{Error, IdempotencyKey, Policy, Scope, Success};
///
/// #[derive(Debug, thiserror::Error)]
/// enum AppError {
///     #[error(transparent)]
///     Sql(#[from] sqlx::Error),
///     #[error(transparent)]
///     Guard(#[from] Error),
/// }
///
/// let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
/// sqlx::query("CREATE TABLE orders (sku TEXT)").execute(&pool).await?;
/// let guard = Guard::builder(pool).migrate().build().await?;
///
/// let policy = Policy::new("orders.create")?;
/// for attempt in 1..=2 {
///     let request = guard.request(Scope::new("acme", "user-7")?, IdempotencyKey::new("k1")?).of("book")?;
///     let order = guard
///         .operation(&policy, request)
///         // A deadlock or a lost connection is not the end of the request: a retry runs again.
///         .release_on(|error| matches!(error, AppError::Sql(_)))
///         .run(async |mutation: &mut Mutation| {
///             sqlx::query("INSERT INTO orders VALUES ('book')").execute(&mut **mutation).await?;
///             Ok(Success::new(String::from("ordered")).task_id("task-1"))
///         })
///         .await?;
///     assert_eq!(order.is_replay(), attempt == 2);
///     assert_eq!(order.value(), "ordered");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct IdempotencyMutationGuard<S: Store>(pub(crate) Arc<Inner<S>>);

impl<S: Store> Clone for IdempotencyMutationGuard<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// What all clones of a guard share.
#[derive(Debug)]
pub(crate) struct Inner<S: Store> {
    pool: sqlx::Pool<S>,
    pub(crate) publishing: Publishing,
    pub(crate) announcements: announce::Announcements,
    defaults: Defaults,
    keyring: Keyring,
    max_answer: usize,
    redact: Option<kept::Redact>,
    /// The longest that one statement of ours may take before its connection is given up.
    patience: Duration,
    /// Tells this guard's open operations from those of other guards.
    id: u64,
    /// On a database with one writer, writers of this process take turns here, in order.
    turns: Option<Arc<Semaphore>>,
    waiters: waiters::Waiters,
    allowance: Option<allowance::Allowance>,
    seen: seen::Seen,
    pub(crate) tally: Arc<tally::Tally>,
    tasks: TaskTracker,
    draining: tokio::sync::Mutex<()>,
    places: places::Places,
}

impl<S: Store> Inner<S> {
    fn new(pool: sqlx::Pool<S>, builder: &GuardBuilder<S>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            pool,
            publishing: Publishing {
                headers: builder.event_headers.clone(),
                sealing: builder.sealing.clone(),
            },
            announcements: announce::Announcements::default(),
            defaults: builder.defaults,
            keyring: builder.keyring.clone(),
            max_answer: builder.max_answer,
            redact: builder.redact.clone(),
            patience: builder.patience,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            turns: S::SINGLE_WRITER.then(|| Arc::new(Semaphore::new(1))),
            waiters: waiters::Waiters::new(builder.max_waiters, builder.max_waiters_per_key),
            allowance: builder.allowance.map(|(records, span)| allowance::Allowance::new(records, span)),
            seen: seen::Seen::default(),
            tally: Arc::default(),
            tasks: TaskTracker::new(),
            draining: tokio::sync::Mutex::new(()),
            places: places::Places::new(builder.max_detached),
        }
    }
}

impl<S: Store> Inner<S> {
    /// The pool that the guard was built over.
    pub(crate) fn pool(&self) -> &sqlx::Pool<S> {
        &self.pool
    }

    /// What answers, steps and events are sealed with.
    pub(crate) fn sealing(&self) -> &Sealing {
        &self.publishing.sealing
    }
}

impl<S: Store> IdempotencyMutationGuard<S> {
    /// Starts to build a guard over `pool`, which the application keeps using for its own queries.
    pub fn builder(pool: sqlx::Pool<S>) -> GuardBuilder<S> {
        GuardBuilder::new(pool)
    }

    /// Names a request: whose it is and which key it carries.
    #[must_use]
    pub fn request(&self, scope: Scope, key: IdempotencyKey) -> Idempotency<S> {
        Idempotency::new(self.clone(), scope, key)
    }

    /// Runs `body` once in a transaction that commits together with the record.
    ///
    /// A repetition gets the recorded value, a different request with the same key gets
    /// [`Error::Conflict`], and one that comes while the first is at work gets [`Error::InProgress`], after
    /// the policy's `wait`. An `Err` of the body rolls back and is recorded as a failure, whatever it says of
    /// itself: name errors that pass in [`Operation::release_on`].
    ///
    /// # Panics
    ///
    /// Resumes a panic of the body, after it was rolled back and recorded as failed.
    pub fn run<T, E, B>(
        &self,
        policy: &Policy,
        request: Request,
        body: B,
    ) -> impl Future<Output = Result<Outcome<T>, E>> + use<S, T, E, B>
    where
        T: Recordable,
        E: From<Error>,
        B: AsyncFnOnce(&mut Mutation<S>) -> Result<Success<T>, E>,
    {
        self.operation(policy, request).run(body)
    }

    /// Runs `body` once without a transaction, for effects outside our database.
    ///
    /// The claim is committed durably before and the answer after it. When the process stops in between,
    /// the policy's `on_lapse` decides what the next request may do.
    ///
    /// # Panics
    ///
    /// Resumes a panic of the body, after it was recorded as failed.
    pub fn run_external<T, E, B>(
        &self,
        policy: &Policy,
        request: Request,
        body: B,
    ) -> impl Future<Output = Result<Outcome<T>, E>> + use<S, T, E, B>
    where
        T: Recordable,
        E: From<Error>,
        B: AsyncFnOnce(&Claim<S>) -> Result<Success<T>, E>,
    {
        self.operation(policy, request).run_external(body)
    }

    /// As [`run`](Self::run), with options of one call: which errors release the claim, how failures are kept.
    pub fn operation<E>(&self, policy: &Policy, request: Request) -> Operation<S, E> {
        Operation::new(self, policy, Ok(request))
    }

    /// The record of one key and the database's time, for tools and tests; a sealed answer stays sealed.
    pub async fn read(&self, key: &RecordKey) -> Result<Option<Reading>, Error> {
        let mut connection = self.0.connection().await.map_err(unavailable)?;
        self.0.timed(Statement::Read, S::read(&mut connection, key)).await.map_err(unavailable)
    }

    /// The pool that the guard was built over.
    #[must_use]
    pub fn pool(&self) -> &sqlx::Pool<S> {
        &self.0.pool
    }

    /// Waits until what dropped callers left behind is settled, at most `limit`; whether all of it was.
    ///
    /// Call it at shutdown, after the server has stopped accepting requests.
    pub async fn drain(&self, limit: Duration) -> bool {
        let _alone = self.0.draining.lock().await;
        self.0.tasks.close();
        let drained = tokio::time::timeout(limit, self.0.tasks.wait()).await.is_ok();
        self.0.tasks.reopen();
        drained
    }
}

/// What the axum layer needs.
#[cfg(feature = "axum")]
impl<S: Store> IdempotencyMutationGuard<S> {
    /// Whether an answer may be stored with its body.
    pub(crate) fn fits(&self, answer: &Answer) -> bool {
        self.0.fits(answer)
    }

    /// Runs `work` in the task of its request, and to its end in one of its own if the request goes after the
    /// work has `begun`; a panic in it is an error.
    pub(crate) fn detached<T: Send + 'static>(
        &self,
        begun: Begun,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Uninterrupted<Result<T, Error>> {
        let counted = self.0.tasks.token();
        let work = async move {
            let done = AssertUnwindSafe(work).catch_unwind().await;
            drop(counted);
            done.map_err(|_| Error::Panicked)
        };
        Uninterrupted::new(&self.0.tasks, work).once(begun)
    }
}

/// This request as the body of its transaction sees it: what it derives children from.
pub fn inside<S: Store>(guard: &IdempotencyMutationGuard<S>, mutation: &Mutation<S>) -> Idempotency<S> {
    Idempotency::inside(guard.clone(), request::Origin::of(mutation.record()))
}

/// The refusal of a caller whose request was not carried out because the store failed.
fn unavailable(error: sqlx::Error) -> Error {
    tracing::warn!(%error, "the idempotency store failed");
    Error::StoreUnavailable(Some(Box::new(error)))
}
