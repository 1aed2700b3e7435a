//! How an attribute's options and types reach the runtime.

use std::time::Duration;

use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::guard::{Claim, Idempotency, IdempotencyMutationGuard, Operation, Request};
use crate::policy::{OnLapse, Policy};
use crate::store::Store;

/// The type that a user wrote as `Idempotency`, whichever alias that is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an idempotent request",
    note = "import it of one database: `use idem_runtime::sqlite::Idempotency;`"
)]
pub trait IsIdempotency {
    /// What the handler's first argument becomes.
    #[cfg(feature = "axum")]
    type Guarded;
    /// The same where a request may come without a key.
    #[cfg(feature = "axum")]
    type GuardedOptional;
    /// What an external body holds.
    type Claim;
}

#[cfg(feature = "axum")]
impl<S: Store, I: crate::axum::identity::Asking> IsIdempotency for Idempotency<S, I> {
    type Guarded = crate::axum::extract::Guarded<S, crate::axum::extract::KeyNeeded, I>;
    type GuardedOptional = crate::axum::extract::Guarded<S, crate::axum::extract::KeyOptional, I>;
    type Claim = Claim<S>;
}

#[cfg(not(feature = "axum"))]
impl<S: Store> IsIdempotency for Idempotency<S> {
    type Claim = Claim<S>;
}

impl<T: IsIdempotency> IsIdempotency for &T {
    #[cfg(feature = "axum")]
    type Guarded = T::Guarded;
    #[cfg(feature = "axum")]
    type GuardedOptional = T::GuardedOptional;
    type Claim = T::Claim;
}

/// The options of a route as the attribute checked them.
#[derive(Debug, Clone, Copy)]
pub struct PolicySpec {
    /// The name.
    pub route: &'static str,
    /// Whether failures are retried.
    pub retry_failed: bool,
    /// What a lapsed external attempt means.
    pub on_lapse: OnLapse,
    /// Milliseconds.
    pub ttl_ms: Option<u64>,
    /// Milliseconds.
    pub lease_ms: Option<u64>,
    /// Milliseconds.
    pub wait_ms: Option<u64>,
    /// Milliseconds.
    pub max_run_ms: Option<u64>,
}

/// The policy of an attribute.
///
/// # Panics
///
/// Never for a route that the attribute has checked.
#[must_use]
pub fn policy(spec: PolicySpec) -> Policy {
    let mut policy = match Policy::new(spec.route) {
        Ok(policy) => policy.retry_failed(spec.retry_failed).on_lapse(spec.on_lapse),
        Err(error) => panic!("the attribute let a route through that cannot be used: {error}"),
    };
    if let Some(ttl) = spec.ttl_ms {
        policy = policy.ttl(Duration::from_millis(ttl));
    }
    if let Some(lease) = spec.lease_ms {
        policy = policy.lease(Duration::from_millis(lease));
    }
    if let Some(wait) = spec.wait_ms {
        policy = policy.wait(Duration::from_millis(wait));
    }
    if let Some(max_run) = spec.max_run_ms {
        policy = policy.max_run(Duration::from_millis(max_run));
    }
    policy
}

/// What a recovered value becomes: the value itself, or the success of a `Result`.
#[diagnostic::on_unimplemented(
    message = "the recovery finds a `{Value}`, which is not what the function gives",
    label = "give `Recovery::Done` of the success value"
)]
pub trait Recovered<Value> {
    /// As the function would have returned it.
    fn recovered(value: Value) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T> Recovered<T> for T {
    fn recovered(value: T) -> T {
        value
    }
}

#[diagnostic::do_not_recommend]
impl<T, E> Recovered<T> for Result<T, E> {
    fn recovered(value: T) -> Self {
        Ok(value)
    }
}

/// The key that `key = expression` gives.
#[cfg(feature = "axum")]
pub fn key_of(key: impl std::fmt::Display) -> Result<crate::key::IdempotencyKey, Error> {
    Ok(crate::key::IdempotencyKey::new(key.to_string())?)
}

/// The fingerprint of an expression that the attribute named.
pub fn fingerprint_of<T: serde::Serialize + ?Sized>(value: &T) -> Result<Fingerprint, Error> {
    Ok(Fingerprint::of(value)?)
}

/// One call of a guarded service function; a request that cannot be fingerprinted fails when it runs.
pub fn operation<S: Store, E>(
    guard: &IdempotencyMutationGuard<S>,
    policy: &Policy,
    request: Result<Request, Error>,
) -> Operation<S, E> {
    Operation::new(guard, policy, request)
}
