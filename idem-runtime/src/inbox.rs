//! Messages that come from elsewhere, more than once: from a broker, a queue, a partner.

use std::time::Duration;

use serde::Serialize;

use crate::error::Error;
use crate::guard::{Claim, IdempotencyMutationGuard, Operation, Outcome, Success};
use crate::key::{IdempotencyKey, Scope};
use crate::mutation::Mutation;
use crate::policy::{OnLapse, Policy, PolicyError};
use crate::store::Store;

/// How long a message is remembered unless it is said: longer than brokers deliver again.
const TTL: Duration = Duration::from_hours(14 * 24);

/// Receives messages of one kind, each with one effect, however often it is delivered.
///
/// Acknowledge a message when [`receive`](Self::receive) gives `Ok`, be it the first delivery or a repetition. An
/// [`InProgress`](Error::InProgress) means that another consumer is at it, and any other error that nothing of the
/// message was kept: leave it to the broker to deliver it again. A [`Conflict`](Error::Conflict) alone is final: two
/// messages have the same id.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # use idem_runtime::{sqlite::{Guard, Mutation}, Error, Scope};
/// use idem_runtime::Inbox;
///
/// # #[derive(Debug, thiserror::Error)] enum AppError {
/// #     #[error(transparent)] Sql(#[from] sqlx::Error), #[error(transparent)] Guard(#[from] Error) }
/// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
/// # sqlx::query("CREATE TABLE payments (cents INTEGER)").execute(&pool).await?;
/// # let guard = Guard::builder(pool).migrate().build().await?;
/// let inbox = Inbox::new(guard, "payments.settled")?;
/// for repeated in [false, true] {
///     let settled = inbox
///         .receive(Scope::new("acme", "bank")?, "message-17", &500, async |mutation: &mut Mutation| {
///             sqlx::query("INSERT INTO payments VALUES (500)").execute(&mut **mutation).await?;
///             Ok::<_, AppError>(())
///         })
///         .await?;
///     assert_eq!(settled.is_replay(), repeated);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Inbox<S: Store> {
    guard: IdempotencyMutationGuard<S>,
    policy: Policy,
}

impl<S: Store> Clone for Inbox<S> {
    fn clone(&self) -> Self {
        Self { guard: self.guard.clone(), policy: self.policy.clone() }
    }
}

impl<S: Store> Inbox<S> {
    /// The inbox of one kind of message; `name` is a route, of `a-z 0-9 . _ -`.
    ///
    /// A failed message may be received again, as brokers deliver it again.
    pub fn new(guard: IdempotencyMutationGuard<S>, name: impl Into<String>) -> Result<Self, PolicyError> {
        let policy = Policy::new(name)?.retry_failed(true).ttl(TTL);
        Ok(Self { guard, policy })
    }

    /// How long a message is remembered; 14 days unless set. Longer than the broker may deliver it again.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.policy = self.policy.ttl(ttl);
        self
    }

    /// How long an attempt owns its message without renewal; the guard's unless set.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.policy = self.policy.lease(lease);
        self
    }

    /// What an attempt means that stopped half-way, for [`receive_external`](Self::receive_external).
    #[must_use]
    pub fn on_lapse(mut self, on_lapse: OnLapse) -> Self {
        self.policy = self.policy.on_lapse(on_lapse);
        self
    }

    /// Runs `body` once for this message, in a transaction that commits together with the memory of it.
    ///
    /// `message_id` is what the sender repeats, any text; `payload` is compared at a repetition. The error of the body
    /// rolls back, and the next delivery runs it again.
    ///
    /// # Panics
    ///
    /// Resumes a panic of the body, after it was rolled back.
    pub async fn receive<E: From<Error>>(
        &self,
        scope: Scope,
        message_id: &str,
        payload: &(impl Serialize + ?Sized),
        body: impl AsyncFnOnce(&mut Mutation<S>) -> Result<(), E>,
    ) -> Result<Outcome<()>, E> {
        let operation = self.operation(scope, message_id, payload)?;
        operation.run(async |mutation: &mut Mutation<S>| body(mutation).await.map(Success::new)).await
    }

    /// The same for an effect outside, which gets its keys from the claim.
    ///
    /// # Panics
    ///
    /// Resumes a panic of the body.
    pub async fn receive_external<E: From<Error>>(
        &self,
        scope: Scope,
        message_id: &str,
        payload: &(impl Serialize + ?Sized),
        body: impl AsyncFnOnce(&Claim<S>) -> Result<(), E>,
    ) -> Result<Outcome<()>, E> {
        let operation = self.operation(scope, message_id, payload)?;
        operation.run_external(async |claim: &Claim<S>| body(claim).await.map(Success::new)).await
    }

    fn operation<E>(
        &self,
        scope: Scope,
        message_id: &str,
        payload: &(impl Serialize + ?Sized),
    ) -> Result<Operation<S, E>, Error> {
        // An id that no header could carry is a key all the same.
        let key = IdempotencyKey::new(message_id)
            .unwrap_or_else(|_| IdempotencyKey::derived("message", &[message_id]));
        let request = self.guard.request(scope, key).of(payload)?;
        Ok(self.guard.operation(&self.policy, request))
    }
}
