//! What a body in external mode holds: the keys it gives to providers and the tasks it binds.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::guard::lane::{Change, Tries, Written};
use crate::guard::recovery::Doubt;
use crate::guard::request::Origin;
use crate::guard::steps::Finished;
use crate::guard::{Idempotency, IdempotencyMutationGuard, Inner, unavailable};
use crate::key::hex_digest;
use crate::record::{Bindings, Record};
use crate::store::Store;

/// The idempotency key of one step at somebody else's service, the same at every attempt of a request.
///
/// Take it as the parameter of a client function, so that a call without a derived key does not compile.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DownstreamKey(String);

impl DownstreamKey {
    /// The key of the step `name` of the life of `record`: 64 hex digits.
    ///
    /// It is SHA-256 over tenant, user, route, key, recorded fingerprint, the beginning of this life and the
    /// step's name, each with its length before it; no secret is in it, so that it can be computed again.
    #[must_use]
    pub fn of(record: &Record, name: &str) -> Self {
        let [tenant, user, route, key] = record.key.columns();
        let life = record.created_at.as_micros().to_string();
        Self(hex_digest("idem downstream v1", &[tenant, user, route, key, &record.request_hash, &life, name]))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DownstreamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A claim in external mode, lent to its body.
pub struct Claim<S: Store> {
    pub(super) inner: Arc<Inner<S>>,
    idempotency: Idempotency<S>,
    record: Record,
    bindings: Mutex<Bindings>,
    pub(super) steps: Finished,
    pub(super) doubt: Doubt,
}

impl<S: Store> Claim<S> {
    pub(super) fn new(inner: Arc<Inner<S>>, record: Record, doubt: Doubt) -> Self {
        let bindings = Mutex::new(record.bindings.clone());
        let guard = IdempotencyMutationGuard(Arc::clone(&inner));
        let idempotency = Idempotency::inside(guard, Origin::of(&record));
        Self { inner, idempotency, record, bindings, steps: Finished::default(), doubt }
    }

    /// Which attempt this is; one unless an earlier one failed or stopped.
    #[must_use]
    pub fn attempt(&self) -> i64 {
        self.record.token.attempt
    }

    /// The record as it was claimed; `bindings` are those of an earlier attempt.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The key to give to a provider for the step `name`.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use idem_runtime::{sqlite::{Claim, Guard}, Error, IdempotencyKey, Policy, Scope, Success};
    /// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    /// # let guard = Guard::builder(pool).migrate().build().await?;
    /// # let request = guard.request(Scope::new("acme", "user-7")?, IdempotencyKey::new("k1")?).of(&5)?;
    /// # let policy = Policy::new("payments.charge")?;
    /// guard
    ///     .run_external(&policy, request, async |claim: &Claim| {
    ///         let key = claim.downstream_key("charge"); // send it as the provider's Idempotency-Key
    ///         assert_eq!(key.as_str().len(), 64);
    ///         claim.bind_task("charge-1").await?; // committed before the charge is sent
    ///         Ok::<_, Error>(Success::new(()))
    ///     })
    ///     .await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn downstream_key(&self, name: &str) -> DownstreamKey {
        DownstreamKey::of(&self.record, name)
    }

    /// Binds a task to the record, committed when this returns: call it before the task is submitted.
    pub async fn bind_task(&self, task_id: impl Into<String>) -> Result<(), Error> {
        self.bind(Bindings { task_id: Some(task_id.into()), outbox_event_id: None }).await
    }

    /// The task that an earlier attempt has bound, or else a new one, which is bound and committed before this returns.
    ///
    /// So a task has its id before it is submitted to a queue elsewhere, and an attempt after a crash submits it under
    /// the same id, by which the queue recognises it. The id goes with the record: when its life has ended, the same
    /// key binds another task.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use idem_runtime::{sqlite::{Claim, Guard}, Error, IdempotencyKey, Policy, Scope, Success};
    /// # async fn submit(_: &str) -> Result<(), Error> { Ok(()) }
    /// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    /// # let guard = Guard::builder(pool).migrate().build().await?;
    /// # let request = guard.request(Scope::new("acme", "user-7")?, IdempotencyKey::new("k1")?).of(&5)?;
    /// # let policy = Policy::new("exports.create")?;
    /// let queued = guard
    ///     .run_external(&policy, request, async |claim: &Claim| {
    ///         let task_id = claim.get_or_bind_task(|| uuid::Uuid::new_v4().to_string()).await?;
    ///         submit(&task_id).await?; // to a queue that refuses an id which it has
    ///         Ok::<_, Error>(Success::new(task_id))
    ///     })
    ///     .await?;
    /// assert_eq!(queued.task_id(), Some(queued.value().as_str()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn get_or_bind_task(&self, fresh: impl FnOnce() -> String) -> Result<String, Error> {
        let bound = self.bindings.lock().unwrap_or_else(PoisonError::into_inner).task_id.clone();
        if let Some(task_id) = bound {
            return Ok(task_id);
        }
        let task_id = fresh();
        self.bind_task(&task_id).await?;
        Ok(task_id)
    }

    /// Binds an outbox event to the record, committed when this returns.
    pub async fn bind_outbox_event(&self, outbox_event_id: impl Into<String>) -> Result<(), Error> {
        self.bind(Bindings { task_id: None, outbox_event_id: Some(outbox_event_id.into()) }).await
    }

    async fn bind(&self, bindings: Bindings) -> Result<(), Error> {
        bindings.check().map_err(|reason| Error::AnswerNotRecordable { reason })?;
        let mut lane = self.inner.lane().await.map_err(unavailable)?;
        let change = Change::Bind(bindings.clone());
        let written =
            lane.write(&self.inner, &self.record.key, self.record.token, &change, Tries::few()).await;
        match written.map_err(unavailable)? {
            Written::Lost => Err(Error::Lost),
            Written::Done(_) => {
                self.bound(bindings);
                Ok(())
            }
        }
    }

    /// Notes what was bound; what is `None` stays as it is.
    pub(super) fn bound(&self, bindings: Bindings) {
        let mut bound = self.bindings.lock().unwrap_or_else(PoisonError::into_inner);
        bound.task_id = bindings.task_id.or(bound.task_id.take());
        bound.outbox_event_id = bindings.outbox_event_id.or(bound.outbox_event_id.take());
    }

    pub(super) fn into_bindings(self) -> Bindings {
        self.bindings.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The request itself: its scope and key, and `child` for further operations.
impl<S: Store> Deref for Claim<S> {
    type Target = Idempotency<S>;

    fn deref(&self) -> &Idempotency<S> {
        &self.idempotency
    }
}

impl<S: Store> fmt::Debug for Claim<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("attempt", &self.record.token.attempt).finish_non_exhaustive()
    }
}
