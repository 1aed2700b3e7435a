//! Duplicates that wait for their twin.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::{Claim, Error, Mutation, Outcome, Success};
use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

async fn a_waiting_duplicate_gets_the_answer_of_its_twin<F: Fixture>() {
    let fixture = F::create().await;
    // One connection: whoever waits must hold none, or the twin could never finish.
    let guard = fixture.guard(1).await;
    let policy = policy().wait(SECOND * 60);
    let (ran, release) = (AtomicU32::new(0), tokio::sync::Notify::new());
    let runs = (0..20).map(async |caller| {
        if caller > 0 {
            release.notify_one();
        }
        guard
            .run_external(&policy, request::<F>(&guard, "k", "book"), async |_: &Claim<F::S>| {
                ran.fetch_add(1, Ordering::SeqCst);
                release.notified().await;
                Ok::<_, Error>(Success::new(7))
            })
            .await
            .unwrap()
            .into_value()
    });
    let values = futures_util::future::join_all(runs).await;
    assert_eq!(values, [7; 20]);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

async fn a_waiting_duplicate_sees_a_twin_of_another_guard_finish_and_runs_after_its_release<F: Fixture>() {
    let fixture = F::create().await;
    let (here, there) = (fixture.guard(2).await, fixture.guard(2).await);
    let waiting = policy().wait(SECOND * 60);
    let started = tokio::sync::Notify::new();
    let finish = tokio::sync::Notify::new();
    let twin = async {
        let released: Result<Outcome<i64>, AppError> = there
            .operation(&policy(), request::<F>(&there, "k", "book"))
            .release_on(|_| true)
            .run_external(async |_: &Claim<F::S>| {
                started.notify_one();
                finish.notified().await;
                Err(AppError::Busy)
            })
            .await;
        assert_eq!(released.unwrap_err(), AppError::Busy);
    };
    let duplicate = async {
        started.notified().await;
        finish.notify_one();
        here.run_external(&waiting, request::<F>(&here, "k", "book"), async |claim: &Claim<F::S>| {
            Ok::<_, Error>(Success::new(claim.attempt()))
        })
        .await
        .unwrap()
        .into_value()
    };
    assert_eq!(futures_util::join!(twin, duplicate).1, 2);
}

async fn a_wait_that_ends_without_an_answer_is_in_progress<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let waiting = policy().wait(Duration::from_millis(40));
    let run = async |_: &mut Mutation<F::S>| Ok::<_, Error>(Success::new(()));
    guard
        .run_external(&policy(), request::<F>(&guard, "k", "book"), async |_: &Claim<F::S>| {
            let at = guard.clone();
            let twin = async move { at.run(&waiting, request::<F>(&at, "k", "book"), run).await };
            let refused = tokio::spawn(twin).await.unwrap().unwrap_err();
            let Error::InProgress { retry_after } = &refused else { panic!("{refused}") };
            assert!(*retry_after >= SECOND && *retry_after <= SECOND * 5);
            assert_eq!((refused.status(), refused.is_retryable()), (409, true));
            Ok::<_, Error>(Success::new(()))
        })
        .await
        .unwrap();
}

on_every_database! {
    a_waiting_duplicate_gets_the_answer_of_its_twin,
    a_waiting_duplicate_sees_a_twin_of_another_guard_finish_and_runs_after_its_release,
    a_wait_that_ends_without_an_answer_is_in_progress,
}
