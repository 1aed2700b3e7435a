//! The process dies while its effect goes to somebody else: `on_lapse` decides, and nothing is charged twice.

use idem_runtime::{Error, OnLapse, Status};
use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

/// Kills the victim where it stopped, after it charged; the key under which it did, where it says so.
async fn dies<F: Fixture>(fixture: &F, options: &[&str], marker: &str) -> Option<String> {
    let mut victim = victim(fixture, &[&["--external"], options].concat());
    let line = victim.wait_for(marker).await;
    victim.kill().await;
    line.split_once(' ').map(|(_, charge)| charge.to_owned())
}

async fn killed_in_its_body_the_retry_runs_with_the_same_downstream_key<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let charge = dies(&fixture, &["--stop", "written"], "written").await.unwrap();
    assert_eq!(charge.len(), 64);
    is_abandoned::<F>(&guard, &policy()).await;
    let (early, seen) = retry_external::<F>(&guard, &policy()).await;
    assert!(matches!(early, Err(Error::InProgress { .. })), "{early:?}");
    assert_eq!(seen, None);

    lapse::<F>(&guard).await;
    let (answer, seen) = retry_external::<F>(&guard, &policy()).await;
    is_answer(&answer, false, 2, OF_THE_RETRY);
    assert_eq!(seen, Some(Seen { charge: charge.clone(), task_id: None }));
    let (replay, seen) = retry_external::<F>(&guard, &policy()).await;
    is_answer(&replay, true, 2, OF_THE_RETRY);
    assert_eq!(seen, None);
    assert_eq!(all_effects::<F>(&guard).await, 1, "the provider charged once");
}

async fn killed_before_its_answer_was_recorded_the_retry_charges_nothing_more<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    dies(&fixture, &["--stop", "recording"], "recording").await;
    is_abandoned::<F>(&guard, &policy()).await;
    lapse::<F>(&guard).await;
    let (answer, _) = retry_external::<F>(&guard, &policy()).await;
    is_answer(&answer, false, 2, OF_THE_RETRY);
    assert_eq!(all_effects::<F>(&guard).await, 1, "the provider charged once");
}

async fn killed_after_its_answer_was_recorded_the_retry_gets_the_answer<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    for (stop, policy) in [(&[][..], policy()), (&["--refuse"], policy().on_lapse(OnLapse::Refuse))] {
        dies(&fixture, &[&["--stop", "returned"], stop].concat(), "returned").await;
        F::pass(guard.pool(), LEASE).await;
        let (answer, seen) = retry_external::<F>(&guard, &policy).await;
        is_answer(&answer, true, 1, OF_THE_VICTIM);
        assert_eq!(seen, None);
        assert_eq!(all_effects::<F>(&guard).await, 1);
        execute::<F>(&guard, "DELETE FROM idempotency_records").await;
        execute::<F>(&guard, "DELETE FROM effects").await;
    }
}

async fn killed_where_a_lapse_refuses_nothing_runs_again_even_past_its_life<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    for stop in ["written", "recording"] {
        dies(&fixture, &["--refuse", "--stop", stop], stop).await;
        let left = record::<F>(&guard, &policy()).await.unwrap();
        is_abandoned::<F>(&guard, &policy()).await;
        let refuse = policy().on_lapse(OnLapse::Refuse);
        let (early, _) = retry_external::<F>(&guard, &refuse).await;
        assert!(matches!(early, Err(Error::InProgress { .. })), "{early:?}");
        for span in [LEASE, left.terms.ttl, left.terms.ttl] {
            F::pass(guard.pool(), span).await;
            // Newer code that would rerun does not loosen what the record was promised.
            for policy in [&refuse, &policy()] {
                let (refused, seen) = retry_external::<F>(&guard, policy).await;
                assert!(matches!(refused, Err(Error::OutcomeUnknown)), "{refused:?}");
                assert_eq!(seen, None);
            }
        }
        let kept = record::<F>(&guard, &refuse).await.unwrap();
        assert_eq!((kept.status, kept.token, kept.revision), (Status::Processing, left.token, left.revision));
        assert_eq!(all_effects::<F>(&guard).await, 1);
        execute::<F>(&guard, "DELETE FROM idempotency_records").await;
        execute::<F>(&guard, "DELETE FROM effects").await;
    }
}

async fn killed_after_it_bound_a_task_the_retry_sees_the_task<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    dies(&fixture, &["--stop", "bound"], "bound").await;
    is_abandoned::<F>(&guard, &policy()).await;
    F::pass(guard.pool(), LEASE).await;
    let (answer, seen) = retry_external::<F>(&guard, &policy()).await;
    is_answer(&answer, false, 2, OF_THE_RETRY);
    assert_eq!(seen.unwrap().task_id.as_deref(), Some("task-9"));
    assert_eq!(answer.unwrap().task_id(), Some("task-9"), "what no attempt binds anew stays bound");
}

async fn killed_around_the_submission_of_a_task_the_retry_submits_the_same_task<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    for stop in ["bound", "submitted"] {
        dies(&fixture, &["--stop", stop], stop).await;
        is_abandoned::<F>(&guard, &policy()).await;
        lapse::<F>(&guard).await;
        let request = guard.request(scope(), key(KEY)).of("book").unwrap();
        let submits = async |claim: &Claim<F::S>| {
            let task = claim.get_or_bind_task(|| "another".to_owned()).await?;
            // The queue, which is elsewhere, refuses an id that it has.
            if F::effects(guard.pool(), &task).await == 0 {
                F::effect(&mut *guard.pool().acquire().await.unwrap(), &task).await.unwrap();
            }
            Ok::<_, Error>(Success::new(task))
        };
        let answer = guard.run_external(&policy(), request, submits).await.unwrap();
        assert_eq!((answer.value().as_str(), answer.task_id()), ("task-9", Some("task-9")));
        assert_eq!((F::effects(guard.pool(), "task-9").await, all_effects::<F>(&guard).await), (1, 1));
        execute::<F>(&guard, "DELETE FROM idempotency_records").await;
        execute::<F>(&guard, "DELETE FROM effects").await;
    }
}

on_every_database! {
    killed_in_its_body_the_retry_runs_with_the_same_downstream_key,
    killed_before_its_answer_was_recorded_the_retry_charges_nothing_more,
    killed_after_its_answer_was_recorded_the_retry_gets_the_answer,
    killed_where_a_lapse_refuses_nothing_runs_again_even_past_its_life,
    killed_after_it_bound_a_task_the_retry_sees_the_task,
    killed_around_the_submission_of_a_task_the_retry_submits_the_same_task,
}
