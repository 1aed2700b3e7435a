//! Takes events that are due and delivers as many at once as it has places.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::deliver::Deliverer;
use super::pauses::Pauses;
use super::queue::Queue;
use super::registered::of_store;
use super::running::{Delivered, Running};
use super::work::Work;
use crate::guard::IdempotencyMutationGuard;
use crate::registry::{DuplicateRoute, unique_routes};
use crate::store::{Outbox, StoreResult};

/// Hands the events of one database to the handlers of this program; any number of processes may have one.
///
/// ```standalone_crate
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # use idem_runtime::sqlite::Guard;
/// use idem_runtime::outbox::Dispatcher;
///
/// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
/// # let guard = Guard::builder(pool).migrate().build().await?;
/// let dispatcher = Dispatcher::builder(guard).concurrency(8).build().await?;
/// let running = dispatcher.spawn();
/// // ... and at shutdown:
/// running.shutdown().await; // what it has begun is finished, what it has not is left to others
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Dispatcher<S: Outbox> {
    deliverer: Arc<Deliverer<S>>,
    concurrency: usize,
    look_every: Duration,
}

impl<S: Outbox> fmt::Debug for Dispatcher<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher").field("concurrency", &self.concurrency).finish_non_exhaustive()
    }
}

impl<S: Outbox> Dispatcher<S> {
    /// Starts to build a dispatcher over the guard's pool.
    pub fn builder(guard: IdempotencyMutationGuard<S>) -> DispatcherBuilder<S> {
        DispatcherBuilder {
            guard,
            states: HashMap::new(),
            concurrency: 16,
            lease: Duration::from_secs(30),
            look_every: Duration::from_secs(1),
            max_deliveries: 20,
            pauses: Pauses { first: Duration::from_secs(1), longest: Duration::from_mins(5) },
        }
    }

    /// Runs in a task of its own until it is told to stop.
    ///
    /// It takes events at once when a body of this process commits some, on PostgreSQL also those of other
    /// processes, and looks by itself at least as often as the builder was told.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use = "a dispatcher that is dropped stops"]
    pub fn spawn(self) -> Running {
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        Running::new(stop, tokio::spawn(async move { self.run(&stopping).await }))
    }

    /// Delivers what is due now, and what becomes due meanwhile, until nothing is; for tests and for jobs.
    pub async fn deliver_due(&self) -> StoreResult<Delivered> {
        let mut work = Work::new(&self.deliverer, self.concurrency, CancellationToken::new());
        while work.fill().await? > 0 || work.one_ended().await {}
        Ok(work.done())
    }

    async fn run(self, stop: &CancellationToken) {
        let inner = Arc::clone(&self.deliverer.guard.0);
        let pool = inner.pool().clone();
        let hearing = Arc::clone(&inner);
        let listening = tokio::spawn(async move {
            S::listen(&pool, || hearing.announcements.published().notify_waiters()).await;
        });
        let mut work = Work::new(&self.deliverer, self.concurrency, stop.clone());
        while !stop.is_cancelled() {
            // From here on every announcement is noticed, also one that comes while we look.
            let mut published = std::pin::pin!(inner.announcements.published().notified());
            published.as_mut().enable();
            let more = match work.fill().await {
                Ok(taken) => taken > 0 && !work.is_full(),
                Err(error) => {
                    tracing::warn!(%error, "no events could be taken; trying again");
                    false
                }
            };
            if more {
                continue;
            }
            let full = work.is_full();
            tokio::select! {
                () = stop.cancelled() => {}
                () = published, if !full => {}
                true = work.one_ended() => {}
                () = tokio::time::sleep(self.look_every.mul_f64(0.75 + fastrand::f64() / 4.0)) => work.give_back().await,
            }
        }
        listening.abort();
        work.give_back().await;
        while work.one_ended().await {}
    }
}

/// Settings of a dispatcher; see [`Dispatcher::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct DispatcherBuilder<S: Outbox> {
    guard: IdempotencyMutationGuard<S>,
    states: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    concurrency: usize,
    lease: Duration,
    look_every: Duration,
    max_deliveries: i64,
    pauses: Pauses,
}

impl<S: Outbox> fmt::Debug for DispatcherBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DispatcherBuilder").finish_non_exhaustive()
    }
}

impl<S: Outbox> DispatcherBuilder<S> {
    /// What handlers take as `&A`; call it once for each type.
    pub fn state<A: Send + Sync + 'static>(mut self, state: A) -> Self {
        self.states.insert(TypeId::of::<A>(), Arc::new(state));
        self
    }

    /// How many events are delivered at once, 16 unless set; each needs up to two connections of the pool.
    pub fn concurrency(mut self, events: usize) -> Self {
        self.concurrency = events.max(1);
        self
    }

    /// How long a dispatcher that stopped keeps its events from the others, 30 s unless set; renewed while it works.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_millis(100));
        self
    }

    /// How often to look for events that nobody announced, 1 s unless set.
    pub fn look_every(mut self, pause: Duration) -> Self {
        self.look_every = pause.max(Duration::from_millis(1));
        self
    }

    /// After how many failed deliveries an event is given up, 20 unless set: about an hour with the usual pauses.
    pub fn max_deliveries(mut self, deliveries: u32) -> Self {
        self.max_deliveries = i64::from(deliveries.max(1));
        self
    }

    /// The pause after the first failure, and the longest; 1 s and 5 min unless set.
    pub fn pauses(mut self, first: Duration, longest: Duration) -> Self {
        self.pauses = Pauses { first, longest: longest.max(first) };
        self
    }

    /// Finds the handlers of this program and checks that they have what they take.
    pub async fn build(self) -> Result<Dispatcher<S>, DispatcherError> {
        unique_routes()?;
        let handlers = of_store::<S>();
        for handler in handlers.values().flatten() {
            let (state, name) = handler.state();
            if state != TypeId::of::<()>() && !self.states.contains_key(&state) {
                return Err(DispatcherError::MissingState {
                    handler_key: handler.spec().handler_key,
                    state: name,
                });
            }
        }
        let mut connection = self.guard.pool().acquire().await?;
        if !S::has_outbox(&mut connection).await? {
            return Err(DispatcherError::Schema);
        }
        drop(connection);
        let queue = Queue::new(Arc::clone(&self.guard.0), self.lease);
        let (guard, states, pauses) = (self.guard, self.states, self.pauses);
        let deliverer =
            Deliverer { guard, queue, handlers, states, max_deliveries: self.max_deliveries, pauses };
        Ok(Dispatcher {
            deliverer: Arc::new(deliverer),
            concurrency: self.concurrency,
            look_every: self.look_every,
        })
    }
}

/// A dispatcher that cannot be built; each message says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DispatcherError {
    /// A handler takes something that the dispatcher was not given.
    #[error("the handler {handler_key:?} takes `&{state}`: give one to the builder with `.state(...)`")]
    MissingState {
        /// The handler.
        handler_key: &'static str,
        /// The type.
        state: &'static str,
    },
    /// The table is missing or older than this version.
    #[error(
        "the table idempotency_outbox_events is missing or outdated: call `.migrate()` on the guard's builder, or apply the migrations of this version"
    )]
    Schema,
    /// Two handlers of one event have the same key.
    #[error(transparent)]
    DuplicateHandler(#[from] DuplicateRoute),
    /// The database did not answer.
    #[error("the database did not answer at start-up")]
    Database(#[from] sqlx::Error),
}
