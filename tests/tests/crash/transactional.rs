//! The process dies while its effects go into our own database: they happened once or not at all.

use idem_runtime::{Error, Status};
use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

/// The victim stopped somewhere before its commit: nothing of it is left, and the next attempt runs.
async fn dies_before_its_commit<F: Fixture>(stop: &str, marker: &str) {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let mut victim = victim(&fixture, &["--stop", stop]);
    victim.wait_for(marker).await;
    let duplicate = retry::<F>(&guard, &policy()).await;
    assert!(matches!(duplicate, Err(Error::InProgress { .. })), "{duplicate:?}");
    victim.kill().await;

    assert_eq!(F::effects(guard.pool(), "victim").await, 0);
    is_abandoned::<F>(&guard, &policy()).await;
    let early = retry::<F>(&guard, &policy()).await;
    assert!(matches!(early, Err(Error::InProgress { .. })), "{early:?}");

    F::pass(guard.pool(), LEASE).await;
    is_answer(&retry::<F>(&guard, &policy()).await, false, 2, OF_THE_RETRY);
    is_answer(&retry::<F>(&guard, &policy()).await, true, 2, OF_THE_RETRY);
    let effects = (F::effects(guard.pool(), "victim").await, F::effects(guard.pool(), "retry").await);
    assert_eq!(effects, (0, 1));
    let record = record::<F>(&guard, &policy()).await.unwrap();
    assert_eq!((record.status, record.token.attempt), (Status::Succeeded, 2));
}

async fn killed_in_its_body_it_leaves_no_effect_and_the_next_attempt_runs<F: Fixture>() {
    dies_before_its_commit::<F>("written", "written").await;
}

async fn killed_between_body_and_completion_it_leaves_no_effect_and_the_next_attempt_runs<F: Fixture>() {
    dies_before_its_commit::<F>("recording", "recording").await;
}

async fn killed_after_the_commit_and_before_its_answer_the_retry_gets_the_answer<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let mut victim = victim(&fixture, &["--stop", "returned"]);
    victim.wait_for("returned").await;
    victim.kill().await;

    assert_eq!(F::effects(guard.pool(), "victim").await, 1);
    let left = record::<F>(&guard, &policy()).await.unwrap();
    assert_eq!((left.status, left.token.attempt), (Status::Succeeded, 1));
    assert!(left.locked_until.is_none() && left.answer.is_some());
    is_answer(&retry::<F>(&guard, &policy()).await, true, 1, OF_THE_VICTIM);
    F::pass(guard.pool(), LEASE).await;
    is_answer(&retry::<F>(&guard, &policy()).await, true, 1, OF_THE_VICTIM);
    let effects = (F::effects(guard.pool(), "victim").await, F::effects(guard.pool(), "retry").await);
    assert_eq!(effects, (1, 0));
}

on_every_database! {
    killed_in_its_body_it_leaves_no_effect_and_the_next_attempt_runs,
    killed_between_body_and_completion_it_leaves_no_effect_and_the_next_attempt_runs,
    killed_after_the_commit_and_before_its_answer_the_retry_gets_the_answer,
}
