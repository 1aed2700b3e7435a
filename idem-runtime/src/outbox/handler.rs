//! One handler of one event type: runs a delivery under the guard and marks the event.

use std::any::{Any, TypeId, type_name};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;

use super::Delivery;
use super::queue::change_event;
use crate::error::{Error, misfit};
use crate::fingerprint::Fingerprint;
use crate::guard::{Claim, Fence, IdempotencyMutationGuard, Operation, Outcome, Success};
use crate::key::{IdempotencyKey, Route, Scope};
use crate::mutation::Mutation;
use crate::policy::{OnLapse, Policy};
use crate::store::{EventChange, EventMark, Outbox, StoredEvent};

/// How long the record of a delivery is kept unless the handler says so: longer than an event is tried.
const TTL: Duration = Duration::from_hours(7 * 24);

/// The options of a handler as its attribute checked them.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// The event's type.
    pub event: &'static str,
    /// The version of its payload.
    pub version: u32,
    /// Names the handler among those of the event.
    pub handler_key: &'static str,
    /// Whether a failed delivery is repeated.
    pub retry_failed: bool,
    /// What a lapsed external attempt means.
    pub on_lapse: OnLapse,
    /// Milliseconds.
    pub ttl_ms: Option<u64>,
    /// Milliseconds.
    pub lease_ms: Option<u64>,
    /// Milliseconds.
    pub max_run_ms: Option<u64>,
}

impl Spec {
    fn policy(&self) -> Result<Policy, Error> {
        let route = Route::outbox(self.event, self.version, self.handler_key)?;
        let ttl = self.ttl_ms.map_or(TTL, Duration::from_millis);
        let mut policy = Policy::of(route).retry_failed(self.retry_failed).on_lapse(self.on_lapse).ttl(ttl);
        if let Some(lease) = self.lease_ms {
            policy = policy.lease(Duration::from_millis(lease));
        }
        if let Some(max_run) = self.max_run_ms {
            policy = policy.max_run(Duration::from_millis(max_run));
        }
        Ok(policy)
    }
}

/// One delivery: the event, where it goes, and whether that is the last of its handlers.
pub(super) struct Attempt<S: Outbox> {
    pub(super) guard: IdempotencyMutationGuard<S>,
    pub(super) event: StoredEvent,
    pub(super) state: Arc<dyn Any + Send + Sync>,
    pub(super) complete: bool,
}

/// Why a handler does not have the event after a delivery.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It did not run, for a reason that passes; this delivery does not count.
    Again(Duration, String),
    /// It ran and failed.
    Failed(String),
    /// Another delivery would come to the same.
    Hopeless(String),
    /// Somebody else holds the event by now.
    Superseded,
}

/// What can deliver events of one type, whatever its payload is.
pub(crate) trait Handler<S: Outbox>: Send + Sync {
    fn spec(&self) -> &Spec;

    /// The type of the value that it needs of the application, with its name.
    fn state(&self) -> (TypeId, &'static str);

    /// Delivers; afterwards the event is marked for this handler, unless it was refused.
    fn deliver(&self, attempt: Attempt<S>) -> BoxFuture<'_, Result<(), Refusal>>;
}

/// A handler whose effects commit together with the event's mark.
pub(super) type InTransaction<S, P, A, E> =
    for<'a> fn(&'a Delivery<P>, &'a A, &'a mut Mutation<S>) -> BoxFuture<'a, Result<(), E>>;

/// A handler for effects outside our database.
pub(super) type Outside<S, P, A, E> =
    for<'a> fn(&'a Delivery<P>, &'a A, &'a Claim<S>) -> BoxFuture<'a, Result<(), E>>;

/// What a handler takes that says which database it is for.
pub trait HasStore {
    /// The database.
    type Store: Outbox;
}

impl<S: Outbox> HasStore for Mutation<S> {
    type Store = S;
}

impl<S: Outbox> HasStore for Claim<S> {
    type Store = S;
}

struct Typed<F> {
    spec: Spec,
    run: F,
}

/// What an event's JSON can be read into.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the payload of an event",
    label = "an event cannot be read into this",
    note = "derive serde's half that reads: `#[derive(serde::Deserialize)]`"
)]
pub trait Payload: DeserializeOwned + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + Send + Sync + 'static> Payload for T {}

/// Why a delivery failed, as text that is kept with the event.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a handler",
    label = "the dispatcher cannot say why a delivery failed",
    note = "implement `std::fmt::Display` for it: the text is kept with the event"
)]
pub trait HandlerError: Display + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Display + Send + 'static> HandlerError for T {}

/// What a registration keeps of a handler: an `Arc<dyn Handler<S>>` of its store.
pub(super) type Erased = Box<dyn Any + Send + Sync>;

/// Registers a handler with `mutation: &mut Mutation`.
pub fn transactional<S, P, A, E>(spec: Spec, run: InTransaction<S, P, A, E>) -> Erased
where
    S: Outbox,
    P: Payload,
    A: Send + Sync + 'static,
    E: HandlerError,
{
    let handler: Arc<dyn Handler<S>> = Arc::new(Typed { spec, run });
    Box::new(handler)
}

/// Registers a handler with `claim: &Claim`.
pub fn external<S, P, A, E>(spec: Spec, run: Outside<S, P, A, E>) -> Erased
where
    S: Outbox,
    P: Payload,
    A: Send + Sync + 'static,
    E: HandlerError,
{
    let handler: Arc<dyn Handler<S>> = Arc::new(Typed { spec, run });
    Box::new(handler)
}

impl<S, P, A, E> Handler<S> for Typed<InTransaction<S, P, A, E>>
where
    S: Outbox,
    P: Payload,
    A: Send + Sync + 'static,
    E: HandlerError,
{
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn state(&self) -> (TypeId, &'static str) {
        (TypeId::of::<A>(), type_name::<A>())
    }

    fn deliver(&self, attempt: Attempt<S>) -> BoxFuture<'_, Result<(), Refusal>> {
        let run = self.run;
        Box::pin(async move {
            let (delivery, state) = (read::<P>(&attempt.event)?, given::<A>(&attempt.state)?);
            let (token, mark) = (attempt.event.token(), self.spec.mark(attempt.complete));
            let operation = self.spec.operation(&attempt)?;
            if attempt.event.attempt == 1 {
                // Nobody had the event before, so nobody made a record: it is written as the delivery succeeds.
                let fence = Fence { event: token, mark, since: attempt.event.now };
                let done = operation.run_fenced(fence, async move |mutation: &mut Mutation<S>| {
                    run(&delivery, &state, mutation).await.map(Success::new).map_err(Failure::of)
                });
                return self.spec.marked(&attempt, done.await).await;
            }
            let mark = EventChange::Deliver(mark);
            let done = operation.run(async move |mutation: &mut Mutation<S>| {
                run(&delivery, &state, mutation).await.map_err(Failure::of)?;
                // Holds the event until the commit: nobody takes it in between, and whoever took it before wins.
                match S::change(mutation, token, &mark).await {
                    Ok(true) => Ok(Success::new(())),
                    Ok(false) => Err(Failure::Superseded),
                    Err(error) => Err(Failure::Mark(error)),
                }
            });
            self.spec.marked(&attempt, done.await).await
        })
    }
}

impl<S, P, A, E> Handler<S> for Typed<Outside<S, P, A, E>>
where
    S: Outbox,
    P: Payload,
    A: Send + Sync + 'static,
    E: HandlerError,
{
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn state(&self) -> (TypeId, &'static str) {
        (TypeId::of::<A>(), type_name::<A>())
    }

    fn deliver(&self, attempt: Attempt<S>) -> BoxFuture<'_, Result<(), Refusal>> {
        let run = self.run;
        Box::pin(async move {
            let (delivery, state) = (read::<P>(&attempt.event)?, given::<A>(&attempt.state)?);
            let done = self.spec.operation(&attempt)?.run_external(async move |claim: &Claim<S>| {
                run(&delivery, &state, claim).await.map(Success::new).map_err(Failure::of)
            });
            let _: Outcome<()> = done.await.map_err(|failure| failure.refusal(&self.spec))?;
            self.spec.mark_outside(&attempt).await
        })
    }
}

impl Spec {
    /// The event's change once this handler has it.
    fn mark(&self, complete: bool) -> EventMark {
        EventMark { handler_key: self.handler_key.to_owned(), complete }
    }

    /// Ends a delivery whose transaction marks the event, unless its handler had the event before.
    async fn marked<S: Outbox>(
        &self,
        attempt: &Attempt<S>,
        done: Result<Outcome<()>, Failure>,
    ) -> Result<(), Refusal> {
        match done.map_err(|failure| failure.refusal(self))? {
            done if done.is_replay() => self.mark_outside(attempt).await,
            _ => Ok(()),
        }
    }

    /// The guard's operation under which the handler runs: the event's id is the key, its payload what was asked.
    fn operation<S: Outbox>(&self, attempt: &Attempt<S>) -> Result<Operation<S, Failure>, Refusal> {
        let event = &attempt.event.event;
        let request = || {
            let scope = Scope::new(&event.tenant, &event.actor)?;
            let key = IdempotencyKey::new(event.id.to_string())?;
            let fingerprint = Fingerprint::json(event.payload.as_bytes())?;
            Ok((self.policy()?, attempt.guard.request(scope, key).with(fingerprint)))
        };
        let (policy, request) = request().map_err(|error: Error| Refusal::Hopeless(error.to_string()))?;
        Ok(attempt.guard.operation(&policy, request).release_on(Failure::is_ours))
    }

    /// Marks an event whose handler has it already, or had its effect outside.
    async fn mark_outside<S: Outbox>(&self, attempt: &Attempt<S>) -> Result<(), Refusal> {
        let mark = EventChange::Deliver(self.mark(attempt.complete));
        match change_event(&attempt.guard.0, attempt.event.token(), &mark).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::Superseded),
            Err(error) => Err(Refusal::Again(AGAIN, error.to_string())),
        }
    }
}

/// The pause after a refusal that says none.
const AGAIN: Duration = Duration::from_secs(1);

fn read<P: Payload>(event: &StoredEvent) -> Result<Delivery<P>, Refusal> {
    // Another version of the program may be able to read it.
    Delivery::read(event).map_err(|error| {
        Refusal::Failed(format!("the payload is not what the handler takes: {}", misfit(&error)))
    })
}

fn given<A: Send + Sync + 'static>(state: &Arc<dyn Any + Send + Sync>) -> Result<Arc<A>, Refusal> {
    let state = Arc::clone(state).downcast::<A>();
    state.map_err(|_| Refusal::Failed(format!("the dispatcher was given no {}", type_name::<A>())))
}

/// Why an operation of a handler did not succeed.
#[derive(Debug)]
enum Failure {
    /// The handler said so.
    Handler(String),
    /// The event is somebody else's by now; everything was rolled back.
    Superseded,
    /// The event could not be marked; everything was rolled back.
    Mark(sqlx::Error),
    /// The guard refused.
    Guard(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Guard(error)
    }
}

impl Failure {
    fn of(error: impl Display) -> Self {
        Self::Handler(error.to_string())
    }

    /// Whether it is no failure of the handler, whose claim is then given back.
    fn is_ours(&self) -> bool {
        matches!(self, Self::Superseded | Self::Mark(_))
    }

    fn refusal(self, spec: &Spec) -> Refusal {
        match self {
            Self::Superseded => Refusal::Superseded,
            Self::Mark(error) => Refusal::Again(AGAIN, error.to_string()),
            Self::Handler(error) if spec.retry_failed => Refusal::Failed(error),
            Self::Handler(error) => Refusal::Hopeless(error),
            Self::Guard(error) => match error {
                Error::InProgress { retry_after } => Refusal::Again(retry_after, error.to_string()),
                Error::StoreUnavailable(_) | Error::Overloaded | Error::CommitUnknown | Error::Lost => {
                    Refusal::Again(AGAIN, error.to_string())
                }
                Error::OutcomeUnknown
                | Error::Failed
                | Error::Conflict { .. }
                | Error::UnknownFingerprint => Refusal::Hopeless(error.to_string()),
                error => Refusal::Failed(error.to_string()),
            },
        }
    }
}
