//! A database that is away: nobody runs unprotected, nothing is half done, and what happened outside is kept.

mod away;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod behind_proxy;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod frozen;
#[cfg(feature = "postgres")]
mod refused;

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::{Claim, Error, IdempotencyMutationGuard, Mutation, Outcome, Policy, Request, Success};
use idem_tests::{Fixture, key, scope};

pub(crate) type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

pub(crate) fn request<F: Fixture>(guard: &Guard<F>, name: &str) -> Request {
    guard.request(scope(), key(name)).of("book").unwrap()
}

/// A body that writes one row named after the key and gives its attempt.
pub(crate) async fn order<F: Fixture>(
    guard: &Guard<F>,
    policy: &Policy,
    name: &str,
    ran: &AtomicU32,
) -> Result<Outcome<i64>, Error> {
    guard
        .run(policy, request::<F>(guard, name), async |mutation: &mut Mutation<F::S>| {
            ran.fetch_add(1, Ordering::SeqCst);
            F::effect(mutation, name).await.unwrap();
            Ok(Success::new(mutation.attempt()))
        })
        .await
}

/// A body outside that gives its attempt.
pub(crate) async fn charge<F: Fixture>(
    guard: &Guard<F>,
    policy: &Policy,
    name: &str,
    ran: &AtomicU32,
) -> Result<Outcome<i64>, Error> {
    guard
        .run_external(policy, request::<F>(guard, name), async |claim: &Claim<F::S>| {
            ran.fetch_add(1, Ordering::SeqCst);
            Ok(Success::new(claim.attempt()))
        })
        .await
}

/// Neither mode runs its body while the database is away.
pub(crate) async fn assert_away<F: Fixture>(guard: &Guard<F>, policy: &Policy, name: &str) {
    let ran = AtomicU32::new(0);
    let inside = order::<F>(guard, policy, name, &ran).await;
    let outside = charge::<F>(guard, policy, name, &ran).await;
    for refused in [inside, outside] {
        let Err(error @ Error::StoreUnavailable(Some(_))) = &refused else { panic!("{refused:?}") };
        assert_eq!((error.status(), error.is_retryable()), (503, true));
        assert_eq!(error.code(), "IDEMPOTENCY_STORE_UNAVAILABLE");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0, "a body ran unprotected");
}
