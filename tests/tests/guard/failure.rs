//! What a failed body leaves behind, and what its retry gets.

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::{Claim, Error, Mode, Mutation, Outcome, Status, Success};
use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

async fn a_failure_rolls_back_and_is_pinned_unless_the_route_retries_it<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    for (name, retry_failed) in [("pinned", false), ("retried", true)] {
        let policy = policy().retry_failed(retry_failed);
        let ran = AtomicU32::new(0);
        let attempt = async || -> Result<Outcome<String>, AppError> {
            let request = request::<F>(&guard, name, "book");
            guard
                .run(&policy, request, async |mutation: &mut Mutation<F::S>| {
                    F::effect(mutation, name).await.unwrap();
                    match ran.fetch_add(1, Ordering::SeqCst) {
                        0 => Err(AppError::Declined { code: 13 }),
                        _ => Ok(Success::new(format!("attempt {}", mutation.attempt()))),
                    }
                })
                .await
        };
        assert_eq!(attempt().await.unwrap_err(), AppError::Declined { code: 13 });
        assert_eq!(F::effects(guard.pool(), name).await, 0, "a failure leaves no rows");
        let second = attempt().await;
        if retry_failed {
            assert_eq!(second.unwrap().value(), "attempt 2");
            assert_eq!(F::effects(guard.pool(), name).await, 1);
        } else {
            assert_eq!(second.unwrap_err(), AppError::Guard("IDEMPOTENCY_FAILED".to_owned()));
            assert_eq!(ran.load(Ordering::SeqCst), 1);
        }
    }
}

async fn a_recorded_failure_gives_the_same_error_again<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    for _ in 0..2 {
        let failed: Result<Outcome<()>, AppError> = guard
            .operation(&policy(), request::<F>(&guard, "k", "book"))
            .record_failures()
            .run(async |_: &mut Mutation<F::S>| Err(AppError::Declined { code: 13 }))
            .await;
        assert_eq!(failed.unwrap_err(), AppError::Declined { code: 13 });
    }
}

async fn a_released_failure_runs_again_at_once<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let ran = AtomicU32::new(0);
    let attempt = async || -> Result<Outcome<i64>, AppError> {
        let first = ran.fetch_add(1, Ordering::SeqCst) == 0;
        guard
            .operation(&policy(), request::<F>(&guard, "k", "book"))
            .release_on(|error| *error == AppError::Busy)
            .run(
                async |mutation: &mut Mutation<F::S>| {
                    if first { Err(AppError::Busy) } else { Ok(Success::new(mutation.attempt())) }
                },
            )
            .await
    };
    assert_eq!(attempt().await.unwrap_err(), AppError::Busy);
    assert!(read::<F>(&guard, &policy(), "k").await.record.released_at.is_some());
    assert_eq!(*attempt().await.unwrap().value(), 2);
}

async fn a_panic_is_recorded_and_handed_on<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(1).await;
    for (name, mode) in [("inside", Mode::Transactional), ("outside", Mode::External)] {
        let at = guard.clone();
        let panicked = tokio::spawn(async move {
            let request = request::<F>(&at, name, "book");
            match mode {
                Mode::Transactional => {
                    at.run(&policy(), request, async |mutation: &mut Mutation<F::S>| {
                        F::effect(mutation, name).await.unwrap();
                        assert!(name != "inside", "the body broke");
                        Ok::<_, Error>(Success::new(()))
                    })
                    .await
                }
                Mode::External => {
                    at.run_external(&policy(), request, async |_: &Claim<F::S>| {
                        assert!(name != "outside", "the body broke");
                        Ok::<_, Error>(Success::new(()))
                    })
                    .await
                }
            }
        })
        .await;
        let panic = panicked.unwrap_err().into_panic();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the body broke"));
        assert_eq!(F::effects(guard.pool(), name).await, 0);
        let record = read::<F>(&guard, &policy(), name).await.record;
        assert_eq!((record.status, record.answer), (Status::Failed, None));
        let ran = AtomicU32::new(0);
        let again = order::<F>(&guard, &policy(), name, "book", &ran).await;
        assert!(matches!(again, Err(Error::Failed)), "{again:?}");
    }
}

async fn an_answer_that_cannot_be_kept_fails_before_the_commit<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.builder(2).await.max_answer_bytes(64).build().await.unwrap();
    let big = "x".repeat(100);
    let inside: Result<Outcome<String>, Error> = guard
        .run(&policy(), request::<F>(&guard, "inside", "book"), async |mutation: &mut Mutation<F::S>| {
            F::effect(mutation, "inside").await.unwrap();
            Ok(Success::new(big.clone()))
        })
        .await;
    assert!(matches!(inside, Err(Error::AnswerNotRecordable { .. })), "{inside:?}");
    assert_eq!(F::effects(guard.pool(), "inside").await, 0);
    assert_eq!(read::<F>(&guard, &policy(), "inside").await.record.status, Status::Failed);
    // Outside, the effect has happened: it must never run again unseen.
    let outside: Result<Outcome<String>, Error> = guard
        .run_external(&policy(), request::<F>(&guard, "outside", "book"), async |_: &Claim<F::S>| {
            Ok(Success::new(big.clone()))
        })
        .await;
    assert!(matches!(outside, Err(Error::AnswerNotRecordable { .. })), "{outside:?}");
    assert!(read::<F>(&guard, &policy(), "outside").await.record.outcome_unknown);
}

on_every_database! {
    a_failure_rolls_back_and_is_pinned_unless_the_route_retries_it,
    a_recorded_failure_gives_the_same_error_again,
    a_released_failure_runs_again_at_once,
    a_panic_is_recorded_and_handed_on,
    an_answer_that_cannot_be_kept_fails_before_the_commit,
}
