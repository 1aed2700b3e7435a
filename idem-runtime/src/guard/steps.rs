//! The steps of an attempt outside: what is finished is kept with the record, and a later attempt goes on behind it.

use std::collections::BTreeMap;
use std::fmt;

use tokio::sync::Mutex;

use crate::encryption::Binding;
use crate::error::Error;
use crate::guard::counted::Statement;
use crate::guard::lane::{Change, Lane, Tries, Written};
use crate::guard::operation::Recordable;
use crate::guard::uninterrupted::Uninterrupted;
use crate::guard::{Claim, DownstreamKey, unavailable};
use crate::mutation::Mutation;
use crate::record::Bindings;
use crate::store::Store;

/// The results of finished steps by name, each as JSON; `None` until they are first asked for.
#[derive(Debug, Default)]
pub(super) struct Finished(Mutex<Option<BTreeMap<String, String>>>);

/// A claim whose effects outside are all steps: it gives no key of its own.
///
/// `#[idempotent(..., steps)]` gives it to the body. A client function that takes a [`DownstreamKey`] can then be
/// called in a step alone. What the types cannot see is a call that takes no key: that one is for a reviewer.
pub struct Steps<'a, S: Store>(&'a Claim<S>);

impl<S: Store> Copy for Steps<'_, S> {}

impl<S: Store> Clone for Steps<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Store> fmt::Debug for Steps<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Steps").field(self.0).finish()
    }
}

impl<S: Store> Steps<'_, S> {
    /// Which attempt this is.
    #[must_use]
    pub fn attempt(&self) -> i64 {
        self.0.attempt()
    }

    /// As [`Claim::step`].
    pub async fn step<T: Recordable, E: From<Error>>(
        &self,
        name: &str,
        work: impl AsyncFnOnce(DownstreamKey) -> Result<T, E>,
    ) -> Result<T, E> {
        self.0.step(name, work).await
    }

    /// As [`Claim::step_in_transaction`].
    pub async fn step_in_transaction<T: Recordable, E: From<Error>>(
        &self,
        name: &str,
        work: impl AsyncFnOnce(&mut Mutation<S>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.0.step_in_transaction(name, work).await
    }

    /// As [`Claim::bind_task`].
    pub async fn bind_task(&self, task_id: impl Into<String>) -> Result<(), Error> {
        self.0.bind_task(task_id).await
    }

    /// As [`Claim::get_or_bind_task`].
    pub async fn get_or_bind_task(&self, fresh: impl FnOnce() -> String) -> Result<String, Error> {
        self.0.get_or_bind_task(fresh).await
    }
}

impl<S: Store> Claim<S> {
    /// This claim with its steps alone.
    #[must_use]
    pub fn steps_only(&self) -> Steps<'_, S> {
        Steps(self)
    }

    /// Takes one step with one effect outside, unless an earlier attempt has finished it: then its value comes back
    /// and `work` does not run.
    ///
    /// `work` gets the step's derived key, the same at every attempt. The value is kept before this returns; a process
    /// that dies in between takes the step again, with the same key. That is why a step has **one** effect: of two, a
    /// crash could leave the first. A step whose value cannot be kept ends the attempt as
    /// [`OutcomeUnknown`](Error::OutcomeUnknown), whatever the body returns. Failed steps are not kept.
    ///
    /// A name stands for one step: asked for twice, it is taken once.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use idem_runtime::{sqlite::{Claim, Guard}, DownstreamKey, Error, IdempotencyKey, Policy, Scope, Success};
    /// # async fn reserve(_: DownstreamKey) -> Result<String, Error> { Ok("room-7".to_owned()) }
    /// # async fn charge(_: DownstreamKey, _: &str) -> Result<u32, Error> { Ok(500) }
    /// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    /// # let guard = Guard::builder(pool).migrate().build().await?;
    /// # let request = guard.request(Scope::new("acme", "user-7")?, IdempotencyKey::new("k1")?).of(&5)?;
    /// # let policy = Policy::new("trips.book")?;
    /// let booked = guard
    ///     .run_external(&policy, request, async |claim: &Claim| {
    ///         let room = claim.step("reserve", async |key| reserve(key).await).await?;
    ///         let cents = claim.step("charge", async |key| charge(key, &room).await).await?;
    ///         Ok::<_, Error>(Success::new(cents))
    ///     })
    ///     .await?;
    /// assert_eq!(booked.value(), &500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn step<T: Recordable, E: From<Error>>(
        &self,
        name: &str,
        work: impl AsyncFnOnce(DownstreamKey) -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(kept) = self.finished(name).await? {
            return Ok(read(&kept)?);
        }
        let value = work(self.downstream_key(name)).await?;
        match self.keep(name, write(&value)).await {
            Ok(()) => Ok(value),
            // Its successor takes the step itself, with the same key.
            Err(Error::Lost) => Err(Error::Lost.into()),
            Err(error) => {
                self.doubt.raise();
                Err(error.into())
            }
        }
    }

    /// Takes one step that writes to our own database: its rows commit together with the mark that it is finished.
    ///
    /// An error rolls back, and so does a claim that was lost meanwhile. Guarded operations have no place inside.
    pub async fn step_in_transaction<T: Recordable, E: From<Error>>(
        &self,
        name: &str,
        work: impl AsyncFnOnce(&mut Mutation<S>) -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(kept) = self.finished(name).await? {
            return Ok(read(&kept)?);
        }
        let (mut mutation, mut lane) = self.begin().await?;
        let result = work(&mut mutation).await;
        let inner = &self.inner;
        let value = match result {
            Ok(value) => value,
            Err(error) => {
                // A rollback that fails closes the connection, which rolls back as well.
                let _ = inner.timed(Statement::Rollback, mutation.rollback()).await;
                lane.put(mutation.into_connection());
                return Err(error);
            }
        };
        let token = self.record().token;
        // A connection that does not answer has taken its transaction with it.
        let intact = mutation.is_open()
            && inner.timed(Statement::Check, S::is_intact(&mut mutation, token)).await.unwrap_or(true);
        if !intact {
            self.doubt.raise();
            return Err(Error::TransactionEnded.into());
        }
        let mut finished = self.steps.0.lock().await;
        let steps = with(finished.as_ref(), name, write(&value)?);
        let text = self.sealed(&steps)?;
        let record = self.record();
        let keeping = S::keep_steps(&mut mutation, &record.key, record.token, &text);
        let kept = inner.timed(Statement::KeepSteps, keeping).await;
        if !matches!(kept, Ok(true)) {
            let _ = inner.timed(Statement::Rollback, mutation.rollback()).await;
            lane.put(mutation.into_connection());
            return Err(kept.map_or_else(unavailable, |_| Error::Lost).into());
        }
        let (bound, published) = (mutation.bindings().clone(), mutation.take_published());
        if let Err(error) = inner.timed(Statement::Commit, mutation.commit()).await {
            // Whether it landed is read by the next look at the steps.
            *finished = None;
            return Err(unavailable(error).into());
        }
        *finished = Some(steps);
        drop(finished);
        lane.put(mutation.into_connection());
        drop(lane);
        inner.announce(published);
        if bound != Bindings::default() {
            self.bound(bound);
        }
        Ok(value)
    }

    /// Begins the transaction of a step; not dropped half-way, as the pool would get an open transaction.
    async fn begin(&self) -> Result<(Mutation<S>, Lane<S>), Error> {
        let (inner, record) = (self.inner.clone(), self.record().clone());
        let begin = async move {
            let mut lane = inner.lane().await?;
            lane.connection(&inner).await?;
            let Some(connection) = lane.take() else { return Err(sqlx::Error::PoolTimedOut) };
            let begin = Mutation::begin(connection, Box::new(record), inner.publishing.clone());
            let mutation = inner.timed(Statement::Begin, begin).await?;
            Ok((mutation, lane))
        };
        Uninterrupted::new(&self.inner.tasks, begin).await.map_err(unavailable)
    }

    /// The steps as they are stored.
    fn sealed(&self, steps: &BTreeMap<String, String>) -> Result<String, Error> {
        let sealed = self.inner.sealing().seal_text(text(steps), &Binding::steps(self.record()));
        sealed.map_err(|error| Error::AnswerNotRecordable { reason: error.to_string() })
    }

    /// The kept value of a step, if one of this life's attempts has finished it.
    async fn finished(&self, name: &str) -> Result<Option<String>, Error> {
        let mut finished = self.steps.0.lock().await;
        if finished.is_none() {
            *finished = Some(self.read_steps().await?);
        }
        Ok(finished.as_ref().and_then(|steps| steps.get(name)).cloned())
    }

    async fn read_steps(&self) -> Result<BTreeMap<String, String>, Error> {
        let record = self.record();
        let (inner, mut tries) = (&self.inner, Tries::few());
        let steps = loop {
            let mut lane = Lane::default();
            let connection = lane.connection(inner).await.map_err(unavailable)?;
            match inner.timed(Statement::Read, S::steps(connection, &record.key, record.token)).await {
                Ok(steps) => break steps.ok_or(Error::Lost)?,
                Err(error) => {
                    lane.doubt(&error);
                    if !tries.again().await {
                        return Err(unavailable(error));
                    }
                }
            }
        };
        let Some(steps) = steps else { return Ok(BTreeMap::new()) };
        let steps = inner.sealing().open_text(steps, &Binding::steps(record))?;
        serde_json::from_str(&steps).map_err(|error| Error::unreadable(&error))
    }

    /// Keeps a value, as long as the attempt may run: its effect has happened.
    async fn keep(&self, name: &str, value: Result<String, Error>) -> Result<(), Error> {
        let mut finished = self.steps.0.lock().await;
        let steps = with(finished.as_ref(), name, value?);
        let (record, inner) = (self.record(), &self.inner);
        let change = Change::KeepSteps(self.sealed(&steps)?);
        let mut lane = inner.lane().await.unwrap_or_default();
        let writing = lane.write(inner, &record.key, record.token, &change, Tries::many());
        match tokio::time::timeout(record.terms.max_run, writing).await {
            Ok(Ok(Written::Done(_))) => {
                *finished = Some(steps);
                Ok(())
            }
            Ok(Ok(Written::Lost)) => Err(Error::Lost),
            Ok(Err(error)) => Err(unavailable(error)),
            Err(_) => Err(Error::StoreUnavailable(None)),
        }
    }
}

fn with(finished: Option<&BTreeMap<String, String>>, name: &str, value: String) -> BTreeMap<String, String> {
    let mut steps = finished.cloned().unwrap_or_default();
    steps.insert(name.to_owned(), value);
    steps
}

fn read<T: Recordable>(kept: &str) -> Result<T, Error> {
    serde_json::from_str(kept).map_err(|error| Error::unreadable(&error))
}

fn write<T: Recordable>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::AnswerNotRecordable { reason: error.to_string() })
}

fn text(steps: &BTreeMap<String, String>) -> String {
    serde_json::to_string(steps).unwrap_or_else(|_| unreachable!("a map of texts is JSON"))
}
