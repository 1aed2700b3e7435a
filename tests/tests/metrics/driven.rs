//! Brings about every outcome that does not need a broken network.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use idem_runtime::store::Maintain;
use idem_runtime::{
    Claim, Error, IdempotencyMutationGuard, Maintenance, Mutation, OnLapse, Outcome, Policy, Recovery,
    Success,
};
use idem_tests::{Fixture, key, policy, scope};
use tokio::sync::Notify;

use crate::exporter::shows;

type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

#[derive(Debug)]
enum AppError {
    Declined,
    Busy,
    Guard,
}

impl From<Error> for AppError {
    fn from(_: Error) -> Self {
        Self::Guard
    }
}

/// What a body does.
#[derive(Clone, Copy)]
enum Act {
    Succeed,
    TooLarge,
    Decline,
    BeBusy,
    Panic,
}

impl Act {
    fn result(self) -> Result<Success<String>, AppError> {
        match self {
            Self::Succeed => Ok(Success::new("done".to_owned())),
            Self::TooLarge => Ok(Success::new("x".repeat(2 * 1024 * 1024))),
            Self::Decline => Err(AppError::Declined),
            Self::BeBusy => Err(AppError::Busy),
            Self::Panic => panic!("a body that panics"),
        }
    }
}

type Ended = Result<Outcome<String>, AppError>;

async fn inside<F: Fixture>(guard: &Guard<F>, policy: &Policy, name: &str, input: &str, act: Act) -> Ended {
    guard
        .operation(policy, guard.request(scope(), key(name)).of(input).unwrap())
        .release_on(|error| matches!(error, AppError::Busy))
        .run(async |_: &mut Mutation<F::S>| act.result())
        .await
}

async fn outside<F: Fixture>(
    guard: &Guard<F>,
    policy: &Policy,
    name: &str,
    body: impl AsyncFnOnce(&Claim<F::S>) -> Act,
) -> Ended {
    guard
        .operation(policy, guard.request(scope(), key(name)).of("book").unwrap())
        .release_on(|error| matches!(error, AppError::Busy))
        .run_external(async |claim: &Claim<F::S>| body(claim).await.result())
        .await
}

pub(crate) async fn every_ending<F: Fixture>() {
    let fixture = F::create().await;
    let (guard, policy) = (fixture.guard(4).await, policy());
    for (name, input, act) in [
        ("a", "book", Act::Succeed),
        ("a", "book", Act::Succeed),
        ("a", "lamp", Act::Succeed),
        ("b", "book", Act::Decline),
        ("b", "book", Act::Decline),
        ("c", "book", Act::BeBusy),
        ("c", "book", Act::Succeed),
        ("d", "book", Act::TooLarge),
    ] {
        let _ = inside::<F>(&guard, &policy, name, input, act).await;
    }
    let panicking = inside::<F>(&guard, &policy, "e", "book", Act::Panic);
    assert!(AssertUnwindSafe(panicking).catch_unwind().await.is_err());
    let bound = outside::<F>(&guard, &policy, "f", async |claim| {
        claim.bind_task("task-1").await.unwrap();
        claim.step("room", async |_| Ok::<_, Error>(1)).await.unwrap();
        Act::Succeed
    });
    bound.await.unwrap();
    let strict = fixture.builder(2).await.max_new_records_per_user(1, Duration::from_hours(1)).build();
    let strict = strict.await.unwrap();
    inside::<F>(&strict, &policy, "first", "book", Act::Succeed).await.unwrap();
    assert!(inside::<F>(&strict, &policy, "second", "book", Act::Succeed).await.is_err());
    // Its record is gone when it ends.
    let lost = outside::<F>(&guard, &policy, "g", async |_| {
        execute::<F>(&guard, "DELETE FROM idempotency_records").await;
        Act::Decline
    });
    assert!(lost.await.is_err());
}

async fn execute<F: Fixture>(guard: &Guard<F>, sql: &str) {
    let mut connection = guard.pool().acquire().await.unwrap();
    F::execute(&mut connection, sql).await.unwrap();
}

pub(crate) async fn every_wait<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let waiting = policy().wait(Duration::from_mins(1));
    let brief = policy().wait(Duration::from_millis(30));
    outside::<F>(&guard, &policy(), "a", async |_| {
        for twin in [&policy(), &brief] {
            let (guard, twin) = (guard.clone(), twin.clone());
            let twin = async move { inside::<F>(&guard, &twin, "a", "book", Act::Succeed).await.is_err() };
            assert!(tokio::spawn(twin).await.unwrap(), "the first is at work");
        }
        Act::Succeed
    })
    .await
    .unwrap();
    for (act, ended) in [(Act::Succeed, "answered"), (Act::BeBusy, "free"), (Act::Decline, "refused")] {
        let mut name = format!("{ended}-");
        // Again until the twin came while the first was at work.
        while !shows("idem_waits_total", "ended", ended).await {
            name.push('x');
            let begun = Notify::new();
            let first = outside::<F>(&guard, &waiting, &name, async |_| {
                begun.notify_one();
                tokio::time::sleep(Duration::from_millis(50)).await;
                act
            });
            let twin = async {
                begun.notified().await;
                outside::<F>(&guard, &waiting, &name, async |_| Act::Succeed).await
            };
            let _ = futures_util::join!(first, twin);
        }
    }
}

/// An attempt outside whose caller left while its body ran.
async fn left_behind<F: Fixture>(guard: &Guard<F>, policy: &Policy, name: &str) {
    let begun = Notify::new();
    let running = outside::<F>(guard, policy, name, async |_| {
        begun.notify_one();
        std::future::pending().await
    });
    tokio::select! {
        _ = running => unreachable!("it never ends"),
        () = begun.notified() => {}
    }
    assert!(guard.drain(Duration::from_mins(1)).await);
}

pub(crate) async fn every_reclaim<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    for (name, on_lapse) in [("a", OnLapse::Rerun), ("b", OnLapse::Refuse), ("c", OnLapse::Recover)] {
        let policy = policy().on_lapse(on_lapse);
        left_behind::<F>(&guard, &policy, name).await;
        let again = outside::<F>(&guard, &policy, name, async |claim| {
            let asked = claim.recover(async { Recovery::<()>::Unknown }).await;
            if asked.is_err() { Act::Decline } else { Act::Succeed }
        });
        assert_eq!(again.await.is_ok(), on_lapse == OnLapse::Rerun);
    }
    F::pass(guard.pool(), Duration::from_hours(25)).await;
    inside::<F>(&guard, &policy(), "a", "a new life", Act::Succeed).await.unwrap();
}

const AWAY: &str = "ALTER TABLE idempotency_records RENAME TO elsewhere";
const BACK: &str = "ALTER TABLE elsewhere RENAME TO idempotency_records";

pub(crate) async fn every_renewal<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let short = policy().lease(Duration::from_millis(60));
    let until = async |result| while !shows("idem_renewals_total", "result", result).await {};
    let _ = outside::<F>(&guard, &short, "a", async |_| {
        until("renewed").await;
        execute::<F>(&guard, AWAY).await;
        until("failed").await;
        execute::<F>(&guard, BACK).await;
        execute::<F>(&guard, "DELETE FROM idempotency_records").await;
        until("lost").await;
        Act::Succeed
    })
    .await;
    let exhausted = short.max_run(Duration::from_millis(80));
    let _ = outside::<F>(&guard, &exhausted, "b", async |_| {
        until("exhausted").await;
        Act::Succeed
    })
    .await;
}

pub(crate) async fn every_outage<F: Fixture>() {
    let fixture = F::create().await;
    let policy = policy();
    let guard = fixture.builder(1).await.statement_timeout(Duration::from_millis(200)).build().await.unwrap();
    let taken = guard.pool().acquire().await.unwrap();
    assert!(inside::<F>(&guard, &policy, "a", "book", Act::Succeed).await.is_err());
    drop(taken);
    let unwritten = outside::<F>(&guard, &policy, "b", async |_| {
        execute::<F>(&guard, AWAY).await;
        Act::Decline
    });
    assert!(unwritten.await.is_err());
}

pub(crate) async fn every_round<F: Fixture<S: Maintain>>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    for name in ["a", "b", "c"] {
        inside::<F>(&guard, &policy(), name, "book", Act::Succeed).await.unwrap();
    }
    F::pass(guard.pool(), Duration::from_hours(25)).await;
    let until = async |name, label, value| while !shows(name, label, value).await {};
    let eager = Maintenance::new().interval(Duration::from_millis(5)).batch(1);
    let sweeps = guard.spawn_maintenance(eager.clone());
    until("idem_swept_total", "sweep", "expire").await;
    F::pass(guard.pool(), Duration::from_hours(25)).await;
    until("idem_swept_total", "sweep", "purge").await;
    until("idem_maintenance_rounds_total", "result", "swept").await;
    let second = guard.spawn_maintenance(eager.clone());
    until("idem_maintenance_rounds_total", "result", "taken").await;
    second.shutdown().await;
    execute::<F>(&guard, AWAY).await;
    until("idem_maintenance_rounds_total", "result", "failed").await;
    execute::<F>(&guard, BACK).await;
    sweeps.shutdown().await;
    // Stopped in the long pause behind its first record.
    while !shows("idem_maintenance_rounds_total", "result", "stopped").await {
        for name in ["d", "e", "f"] {
            let _ = inside::<F>(&guard, &policy(), name, "book", Act::Succeed).await;
        }
        F::pass(guard.pool(), Duration::from_hours(50)).await;
        let slow = guard.spawn_maintenance(eager.clone().share(0.01));
        let mut connection = guard.pool().acquire().await.unwrap();
        while F::number(&mut connection, "SELECT count(*) FROM idempotency_records").await.unwrap() > 2 {}
        drop(connection);
        slow.shutdown().await;
    }
}
