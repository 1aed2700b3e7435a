//! A caller that leaves, at whatever moment, leaves no half operation behind and takes no connection along.

mod external;
mod pool;
mod runtime;
mod transactional;
mod waiting;

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use idem_runtime::{
    Claim, Error, IdempotencyMutationGuard, Mutation, Outcome, Policy, Reading, RecordKey, Request, Success,
};
use idem_tests::{Fixture, key, scope};
use sqlx::{Connection, Database};

pub(crate) type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

/// Longer than anything takes here: what is bounded by it fails instead of hanging.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// When a caller who has polled often enough drops the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// Right after its last poll: what it waits for is under way.
    AtOnce,
    /// When it would poll again: what it waited for has happened, and nobody has taken it.
    WhenWoken,
}

pub(crate) const EITHER_WAY: [Leaves; 2] = [Leaves::AtOnce, Leaves::WhenWoken];

/// Polls `future` at most `polls` times and drops it then; `None` when that was before its end.
pub(crate) async fn poll_at_most<T>(
    polls: u32,
    leaves: Leaves,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = Box::pin(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 && leaves == Leaves::AtOnce => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

pub(crate) fn request<F: Fixture>(guard: &Guard<F>, name: &str) -> Request {
    guard.request(scope(), key(name)).of("book").unwrap()
}

/// A transactional run whose body writes one row named after the key, and yields before and after it.
pub(crate) async fn order<F: Fixture>(
    guard: &Guard<F>,
    policy: &Policy,
    name: &str,
) -> Result<Outcome<String>, Error> {
    guard
        .run(policy, request::<F>(guard, name), async |mutation: &mut Mutation<F::S>| {
            yield_often().await;
            F::effect(mutation, name).await.unwrap();
            yield_often().await;
            Ok(Success::new(format!("order of {name}")))
        })
        .await
}

/// An external run that gives its attempt, after it was cancellable at a statement and at bare yields.
pub(crate) async fn charge<F: Fixture>(
    guard: &Guard<F>,
    policy: &Policy,
    name: &str,
    begun: impl Fn(),
) -> Result<Outcome<i64>, Error> {
    guard
        .run_external(policy, request::<F>(guard, name), async |claim: &Claim<F::S>| {
            begun();
            yield_often().await;
            claim.bind_task("task-1").await?;
            yield_often().await;
            Ok(Success::new(claim.attempt()))
        })
        .await
}

pub(crate) async fn yield_often() {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn read<F: Fixture>(guard: &Guard<F>, policy: &Policy, name: &str) -> Option<Reading> {
    guard.read(&RecordKey::new(scope(), policy.route().clone(), key(name))).await.unwrap()
}

/// Waits until nothing of a departed caller is under way; then the pool must lend clean connections.
pub(crate) async fn settle<F: Fixture>(guard: &Guard<F>) {
    assert!(guard.drain(LONG).await, "what a caller left behind was not settled");
    let mut borrowed = guard.pool().acquire().await.unwrap();
    if F::S::NAME == "SQLite" {
        F::execute(&mut borrowed, "BEGIN IMMEDIATE").await.expect("the next borrower is in no transaction");
        F::execute(&mut borrowed, "ROLLBACK").await.unwrap();
    } else {
        // Only inside a transaction a savepoint can be set and found again.
        let probe = async {
            F::execute(&mut borrowed, "SAVEPOINT probe").await?;
            F::execute(&mut borrowed, "RELEASE SAVEPOINT probe").await
        };
        let refused = probe.await.expect_err("the next borrower is in no transaction");
        let code = refused.as_database_error().and_then(|error| error.code().map(String::from));
        assert!(matches!(code.as_deref(), Some("25P01" | "42000")), "{refused}");
    }
    // What sqlx believes counts as well: at a depth of one this would send SAVEPOINT, and fail.
    borrowed.begin().await.unwrap().rollback().await.unwrap();
}
