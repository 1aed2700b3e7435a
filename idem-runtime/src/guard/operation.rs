//! The typed layer: values in, values out, JSON in between.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::guard::claim::Call;
use crate::guard::engine::{self, Ran, Verdict};
use crate::guard::fenced::{self, Fence};
use crate::guard::{Claim, IdempotencyMutationGuard, Inner, Request};
use crate::mutation::Mutation;
use crate::policy::{Mode, Policy};
use crate::record::{Answer, AnswerBody, Bindings, Record, Status, Timestamp};
use crate::store::{Outbox, Store};

/// The success of a body: its value and the asynchronous effects that it started.
///
/// ```
/// use idem_runtime::Success;
///
/// let success = Success::new("order-1").task_id("task-9").status(202);
/// ```
#[derive(Debug, Clone)]
pub struct Success<T> {
    value: T,
    status: u16,
    bindings: Bindings,
}

impl<T> Success<T> {
    /// A success with status 200 and nothing bound.
    pub fn new(value: T) -> Self {
        Self { value, status: 200, bindings: Bindings::default() }
    }

    /// The HTTP status that is recorded with the value.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// All that the body bound.
    #[must_use]
    pub fn bindings(mut self, bindings: Bindings) -> Self {
        self.bindings = bindings;
        self
    }

    /// The task that the body queued.
    #[must_use]
    pub fn task_id(mut self, task_id: impl Into<String>) -> Self {
        self.bindings.task_id = Some(task_id.into());
        self
    }

    /// The outbox event that the body wrote.
    #[must_use]
    pub fn outbox_event_id(mut self, outbox_event_id: impl Into<String>) -> Self {
        self.bindings.outbox_event_id = Some(outbox_event_id.into());
        self
    }
}

/// What a guarded call gives: the value, and whether it comes from the record.
#[derive(Debug, Clone)]
pub struct Outcome<T> {
    value: T,
    replayed: bool,
    attempt: i64,
    bindings: Bindings,
    expires_at: Option<Timestamp>,
}

impl<T> Outcome<T> {
    /// The value of the body, of this run or the recorded one.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The value, without the rest.
    pub fn into_value(self) -> T {
        self.value
    }

    /// Whether the body ran earlier and this is what it gave then.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.replayed
    }

    /// The attempt whose value this is.
    #[must_use]
    pub fn attempt(&self) -> i64 {
        self.attempt
    }

    /// The task that the request queued.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        self.bindings.task_id.as_deref()
    }

    /// The outbox event that the request wrote.
    #[must_use]
    pub fn outbox_event_id(&self) -> Option<&str> {
        self.bindings.outbox_event_id.as_deref()
    }

    /// Until when a repetition gets this value.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }
}

/// A value that can be recorded and given again: any type that derives both halves of serde.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded and replayed",
    label = "a retry could not get this value",
    note = "derive both halves of serde on it: `#[derive(serde::Serialize, serde::Deserialize)]`"
)]
pub trait Recordable: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Recordable for T {}

type ReleaseOn<E> = Box<dyn Fn(&E) -> bool + Send + Sync>;

/// How errors of one type are kept and given again.
struct FailureCodec<E> {
    encode: fn(&E) -> serde_json::Result<Vec<u8>>,
    decode: fn(&[u8]) -> serde_json::Result<E>,
}

impl<E> Copy for FailureCodec<E> {}

impl<E> Clone for FailureCodec<E> {
    fn clone(&self) -> Self {
        *self
    }
}

/// One call of a guard with options; see [`IdempotencyMutationGuard::operation`].
#[must_use = "an operation does nothing until it is run"]
pub struct Operation<S: Store, E> {
    inner: Arc<Inner<S>>,
    policy: Policy,
    request: Result<Request, Error>,
    release_on: Option<ReleaseOn<E>>,
    failures: Option<FailureCodec<E>>,
}

impl<S: Store, E> fmt::Debug for Operation<S, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl<S: Store, E> Operation<S, E> {
    pub(crate) fn new(
        guard: &IdempotencyMutationGuard<S>,
        policy: &Policy,
        request: Result<Request, Error>,
    ) -> Self {
        Self {
            inner: Arc::clone(&guard.0),
            policy: policy.clone(),
            request,
            release_on: None,
            failures: None,
        }
    }

    /// Errors after which the claim is given back instead of recorded as failed, so that a retry runs.
    pub fn release_on(mut self, release: impl Fn(&E) -> bool + Send + Sync + 'static) -> Self {
        self.release_on = Some(Box::new(release));
        self
    }

    /// Keeps errors too, so that a repeated failure gives the recorded error instead of [`Error::Failed`].
    pub fn record_failures(mut self) -> Self
    where
        E: Serialize + DeserializeOwned,
    {
        self.failures = Some(FailureCodec {
            encode: |error| serde_json::to_vec(error),
            decode: |bytes| serde_json::from_slice(bytes),
        });
        self
    }

    /// Runs `body` once in a transaction; see [`IdempotencyMutationGuard::run`].
    ///
    /// # Panics
    ///
    /// Resumes a panic of the body, after it was rolled back and recorded as failed.
    pub async fn run<T>(
        self,
        body: impl AsyncFnOnce(&mut Mutation<S>) -> Result<Success<T>, E>,
    ) -> Result<Outcome<T>, E>
    where
        T: Recordable,
        E: From<Error>,
    {
        let Self { inner, policy, request, release_on, failures } = self;
        let call = Call::new(&inner, &policy, Mode::Transactional, request?)?;
        let limits = Arc::clone(&inner);
        let judge = move |result| verdict(&limits, result, release_on.as_ref(), failures);
        let ran = engine::run_in_transaction(inner, call, body, judge).await?;
        outcome(ran, failures)
    }

    /// Runs `body` once in a transaction that an event's `fence` guards instead of a claim; no record was made before.
    pub(crate) async fn run_fenced<T>(
        self,
        fence: Fence,
        body: impl AsyncFnOnce(&mut Mutation<S>) -> Result<Success<T>, E>,
    ) -> Result<Outcome<T>, E>
    where
        S: Outbox,
        T: Recordable,
        E: From<Error>,
    {
        let Self { inner, policy, request, release_on, failures } = self;
        let call = Call::new(&inner, &policy, Mode::Transactional, request?)?;
        let limits = Arc::clone(&inner);
        let judge = move |result| verdict(&limits, result, release_on.as_ref(), failures);
        let ran = fenced::run(inner, call, fence, body, judge).await?;
        outcome(ran, failures)
    }

    /// Runs `body` once without a transaction; see [`IdempotencyMutationGuard::run_external`].
    ///
    /// # Panics
    ///
    /// Resumes a panic of the body, after it was recorded as failed.
    pub async fn run_external<T>(
        self,
        body: impl AsyncFnOnce(&Claim<S>) -> Result<Success<T>, E>,
    ) -> Result<Outcome<T>, E>
    where
        T: Recordable,
        E: From<Error>,
    {
        let Self { inner, policy, request, release_on, failures } = self;
        let call = Call::new(&inner, &policy, Mode::External, request?)?;
        let limits = Arc::clone(&inner);
        let judge = move |result| verdict(&limits, result, release_on.as_ref(), failures);
        let ran = engine::run_outside(inner, call, body, judge).await?;
        outcome(ran, failures)
    }
}

/// The status under which a recorded error of a service function stands.
const FAILURE_STATUS: u16 = 500;

fn verdict<S: Store, T: Serialize, E>(
    inner: &Inner<S>,
    result: Result<Success<T>, E>,
    release_on: Option<&ReleaseOn<E>>,
    failures: Option<FailureCodec<E>>,
) -> Verdict<T, E> {
    match result {
        Ok(Success { value, status, bindings }) => match serde_json::to_vec(&value) {
            Ok(json) => {
                let (length, answer) = (json.len(), Answer::json(status, json));
                if inner.fits(&answer) {
                    Verdict::Succeeded { value, answer, bindings }
                } else {
                    let reason = format!("it has {length} bytes, more than the guard's max_answer_bytes");
                    Verdict::NotRecordable { reason }
                }
            }
            Err(error) => Verdict::NotRecordable { reason: format!("it cannot be serialised: {error}") },
        },
        Err(error) if release_on.is_some_and(|release| release(&error)) => Verdict::Released { error },
        Err(error) => {
            let encoded = failures.and_then(|codec| (codec.encode)(&error).ok());
            let answer = encoded.map(|json| Answer::json(FAILURE_STATUS, json));
            Verdict::Failed { error, answer: answer.filter(|answer| inner.fits(answer)) }
        }
    }
}

fn outcome<T, E>(ran: Ran<T, E>, failures: Option<FailureCodec<E>>) -> Result<Outcome<T>, E>
where
    T: DeserializeOwned,
    E: From<Error>,
{
    match ran {
        Ran::First { value, attempt, expires_at, bindings } => {
            Ok(Outcome { value, replayed: false, attempt, bindings, expires_at })
        }
        Ran::Failed { error, .. } => Err(error),
        Ran::Recorded(record) => replay(*record, failures),
    }
}

fn replay<T, E>(record: Record, failures: Option<FailureCodec<E>>) -> Result<Outcome<T>, E>
where
    T: DeserializeOwned,
    E: From<Error>,
{
    let Some(Answer { body: AnswerBody::Kept(body), .. }) = record.answer else {
        return Err(Error::ReplayUnreadable { reason: "no body was kept".to_owned() }.into());
    };
    if record.status == Status::Failed {
        let error = failures.and_then(|codec| (codec.decode)(&body).ok());
        return Err(error.unwrap_or_else(|| Error::Failed.into()));
    }
    match serde_json::from_slice(&body) {
        Ok(value) => Ok(Outcome {
            value,
            replayed: true,
            attempt: record.token.attempt,
            bindings: record.bindings,
            expires_at: Some(record.expires_at),
        }),
        Err(error) => Err(Error::unreadable(&error).into()),
    }
}
