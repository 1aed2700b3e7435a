//! Racers for a record whose owner has stopped, or is only too late.

use idem_runtime::store::{NewClaim, Store};
use idem_runtime::{Claim, Defaults, Error, Fingerprint, Keyring, Mode, RecordKey, Success};
use idem_tests::{Fixture, key, on_every_database, policy, scope};
use tokio::sync::Notify;

use crate::*;

async fn of_many_racers_on_a_lapsed_lease_one_takes_over<F: Fixture>() {
    let fixture = F::create().await;
    let guards = [fixture.guard(4).await, fixture.guard(4).await];
    for (mode, round) in MODES.into_iter().flat_map(|mode| (0..10).map(move |round| (mode, round))) {
        let name = format!("{mode:?}-{round}");
        // What a process leaves that stopped right after its claim.
        let abandoned = NewClaim {
            key: RecordKey::new(scope(), policy().route().clone(), key(&name)),
            request_hash: Keyring::plain().seal(&Fingerprint::of("book").unwrap()),
            request_fields: None,
            terms: policy().terms(mode, &Defaults::default()).unwrap(),
            claim_id: uuid::Uuid::new_v4(),
        };
        let mut connection = guards[0].pool().acquire().await.unwrap();
        F::S::insert(&mut connection, &abandoned).await.unwrap().unwrap();
        drop(connection);
        F::pass(guards[0].pool(), abandoned.terms.lease).await;
        let race = Race::<F>::new(&guards, mode, policy(), AT_ONCE, First::Succeeds);
        assert_eq!(one_runs(&race, &name).await, 2);
    }
}

async fn an_owner_that_is_too_late_gets_the_answer_of_the_racer_that_took_over<F: Fixture>() {
    let fixture = F::create().await;
    let guards = [fixture.guard(4).await, fixture.guard(4).await];
    // As long as `max_run`, so that no renewal brings the lease back.
    let policy = policy().lease(HOUR).max_run(HOUR);
    for round in 0..10 {
        let name = format!("k{round}");
        let (begun, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let request = guards[0].request(scope(), key(&name)).of("book").unwrap();
        let body = {
            let (begun, finish) = (Arc::clone(&begun), Arc::clone(&finish));
            async move |_: &Claim<F::S>| {
                begun.notify_one();
                finish.notified().await;
                Ok::<_, Error>(Success::new("too late".to_owned()))
            }
        };
        let owner = tokio::spawn(guards[0].run_external(&policy, request, body));
        begun.notified().await;
        F::pass(guards[0].pool(), HOUR).await;
        let race = Race::<F>::new(&guards, Mode::External, policy.clone(), AT_ONCE, First::Succeeds);
        assert_eq!(one_runs(&race, &name).await, 2);
        finish.notify_one();
        let owner = owner.await.unwrap().unwrap();
        assert!(owner.is_replay());
        assert_eq!(owner.attempt(), 2);
        assert!(owner.value().starts_with("book by "), "{owner:?}");
    }
}

/// The owner of a claim that was lost while it ran, and the successor who stands in its body.
async fn a_caller_whose_claim_was_lost_waits_for_its_successor_as_any_duplicate_does<F: Fixture>() {
    let fixture = F::create().await;
    let guards = [fixture.guard(4).await, fixture.guard(4).await];
    let policy = policy().lease(HOUR).max_run(HOUR).wait(HOUR);
    for ending in ["succeeds", "fails"] {
        let begin = |guard: usize| {
            let (begun, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let request = guards[guard].request(scope(), key(ending)).of("book").unwrap();
            let told = (Arc::clone(&begun), Arc::clone(&finish));
            let body = async move |claim: &Claim<F::S>| {
                told.0.notify_one();
                told.1.notified().await;
                match (claim.attempt(), ending) {
                    (1, "fails") => Err(Error::Failed),
                    (attempt, _) => Ok::<_, Error>(Success::new(attempt)),
                }
            };
            (tokio::spawn(guards[guard].run_external(&policy, request, body)), begun, finish)
        };
        let (mut owner, begun, finish) = begin(0);
        begun.notified().await;
        F::pass(guards[0].pool(), HOUR).await;
        let (successor, begun, finish_successor) = begin(1);
        begun.notified().await;

        finish.notify_one();
        // Long enough for an owner that does not wait to show itself.
        let early = tokio::time::timeout(Duration::from_millis(300), &mut owner).await;
        assert!(early.is_err(), "{ending}: {early:?}");
        finish_successor.notify_one();
        assert!(!successor.await.unwrap().unwrap().is_replay());
        let owner = owner.await.unwrap().unwrap();
        assert_eq!((owner.is_replay(), *owner.value()), (true, 2), "{ending}");
    }
}

on_every_database! {
    a_caller_whose_claim_was_lost_waits_for_its_successor_as_any_duplicate_does,
    of_many_racers_on_a_lapsed_lease_one_takes_over,
    an_owner_that_is_too_late_gets_the_answer_of_the_racer_that_took_over,
}
