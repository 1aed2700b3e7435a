//! Bodies without a transaction: claims, tasks, derived keys, leases.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::{Claim, Error, OnLapse, Outcome, Status, Success};
use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

async fn an_external_run_binds_its_task_before_it_is_submitted<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(1).await;
    let submitted = AtomicU32::new(0);
    let run = async || {
        guard
            .run_external(&policy(), request::<F>(&guard, "k", "book"), async |claim: &Claim<F::S>| {
                claim.bind_task("task-9").await?;
                let bound = read::<F>(&guard, &policy(), "k").await.record.bindings.task_id;
                assert_eq!(bound.as_deref(), Some("task-9"), "committed before the submission");
                submitted.fetch_add(1, Ordering::SeqCst);
                Ok::<_, Error>(Success::new(claim.downstream_key("submit").to_string()))
            })
            .await
            .unwrap()
    };
    let (first, second) = (run().await, run().await);
    assert_eq!((first.task_id(), second.task_id()), (Some("task-9"), Some("task-9")));
    assert_eq!(first.value(), second.value());
    assert_eq!(submitted.load(Ordering::SeqCst), 1);
}

async fn a_downstream_key_is_the_same_at_each_attempt_and_new_in_a_new_life<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let policy = policy().retry_failed(true);
    let charge = async |fail: bool| {
        let keys = std::sync::Mutex::new(Vec::new());
        let ran: Result<Outcome<()>, Error> = guard
            .run_external(&policy, request::<F>(&guard, "k", "book"), async |claim: &Claim<F::S>| {
                keys.lock().unwrap().push(claim.downstream_key("charge").to_string());
                keys.lock().unwrap().push(claim.downstream_key("mail").to_string());
                if fail { Err(Error::Failed) } else { Ok(Success::new(())) }
            })
            .await;
        assert_eq!(ran.is_err(), fail);
        keys.into_inner().unwrap()
    };
    let first = charge(true).await;
    assert_ne!(first[0], first[1], "each step has its own");
    assert_eq!(charge(false).await, first);
    F::pass(guard.pool(), SECOND * 3600 * 25).await;
    assert_ne!(charge(false).await, first, "the key was used again after its end");
}

async fn the_lease_of_a_live_external_body_is_renewed_and_a_long_one_outlives_it<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let policy = policy().lease(Duration::from_millis(300)).max_run(SECOND * 60);
    guard
        .run_external(&policy, request::<F>(&guard, "k", "book"), async |_: &Claim<F::S>| {
            let claimed = read::<F>(&guard, &policy, "k").await.record;
            // Wait until the lease was moved three times: without renewal this would never end.
            let mut last = claimed.locked_until;
            for _ in 0..3 {
                loop {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    let now = read::<F>(&guard, &policy, "k").await.record.locked_until;
                    if now > last {
                        last = now;
                        break;
                    }
                }
            }
            Ok::<_, Error>(Success::new(()))
        })
        .await
        .unwrap();
    assert_eq!(read::<F>(&guard, &policy, "k").await.record.status, Status::Succeeded);
}

async fn a_lapsed_refuse_waits_for_an_operator_even_past_its_life<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let policy = policy().on_lapse(OnLapse::Refuse);
    let run = async || -> Result<Outcome<()>, Error> {
        let request = request::<F>(&guard, "k", "book");
        guard.run_external(&policy, request, async |_: &Claim<F::S>| std::future::pending().await).await
    };
    // Polled once and dropped: the body has begun, so only its lease ends.
    assert!(tokio::time::timeout(Duration::from_millis(200), run()).await.is_err());
    assert!(guard.drain(SECOND * 30).await);
    for span in [Duration::ZERO, SECOND * 3600 * 48] {
        F::pass(guard.pool(), span).await;
        assert!(matches!(run().await, Err(Error::OutcomeUnknown)));
    }
}

on_every_database! {
    an_external_run_binds_its_task_before_it_is_submitted,
    a_downstream_key_is_the_same_at_each_attempt_and_new_in_a_new_life,
    the_lease_of_a_live_external_body_is_renewed_and_a_long_one_outlives_it,
    a_lapsed_refuse_waits_for_an_operator_even_past_its_life,
}
