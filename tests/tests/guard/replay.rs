//! A retry gets the recorded answer; another request with the same key does not.

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::{AnswerBody, Error, Keyring, Mutation, Outcome, Policy, Secret, Success};
use idem_tests::{Fixture, key, on_every_database, policy, scope};
use serde::Serialize;

use crate::*;

async fn a_repetition_gets_the_recorded_answer_and_nothing_runs_again<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let (policy, ran) = (policy(), AtomicU32::new(0));
    let first = order::<F>(&guard, &policy, "k", "book", &ran).await.unwrap();
    let second = order::<F>(&guard, &policy, "k", "book", &ran).await.unwrap();
    assert!(!first.is_replay() && second.is_replay());
    assert_eq!(first.value(), second.value());
    assert_eq!((second.task_id(), second.outbox_event_id()), (Some("task-1"), Some("event-1")));
    assert_eq!(first.expires_at(), second.expires_at());
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    assert_eq!(F::effects(guard.pool(), "k").await, 1);
    let record = read::<F>(&guard, &policy, "k").await.record;
    assert_eq!(record.answer.unwrap().code, 201);
}

async fn another_request_with_the_same_key_is_a_conflict_on_every_path<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let (policy, ran) = (policy(), AtomicU32::new(0));
    let other = |name| order::<F>(&guard, &policy, name, "pen", &ran);
    // In flight: a conflict at once, not `in progress`, also where duplicates wait.
    let waiting = policy.clone().wait(SECOND * 60);
    guard
        .run(&policy, request::<F>(&guard, "flight", "book"), async |_: &mut Mutation<F::S>| {
            let twin = tokio::spawn({
                let (guard, waiting) = (guard.clone(), waiting.clone());
                async move {
                    let request = guard.request(scope(), key("flight")).of("pen").unwrap();
                    guard.run(&waiting, request, async |_: &mut Mutation<F::S>| Ok(Success::new(()))).await
                }
            });
            let refused: Result<_, Error> = twin.await.unwrap();
            assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
            Ok::<_, Error>(Success::new(()))
        })
        .await
        .unwrap();
    // Succeeded.
    order::<F>(&guard, &policy, "k", "book", &ran).await.unwrap();
    assert!(matches!(other("k").await, Err(Error::Conflict { .. })));
    // Failed, released, lapsed.
    let retried = policy.clone().retry_failed(true);
    for name in ["failed", "released"] {
        let operation = guard.operation(&retried, request::<F>(&guard, name, "book"));
        let released = name == "released";
        let failed: Result<Outcome<()>, AppError> = operation
            .release_on(move |_| released)
            .run(async |_: &mut Mutation<F::S>| Err(AppError::Busy))
            .await;
        assert_eq!(failed.unwrap_err(), AppError::Busy);
        let refused = order::<F>(&guard, &retried, name, "pen", &ran).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{name}: {refused:?}");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

async fn a_conflict_names_the_members_that_differ_when_there_is_a_secret<F: Fixture>() {
    #[derive(Serialize)]
    struct Payment {
        amount: u32,
        note: &'static str,
    }
    let fixture = F::create().await;
    let keyring = Keyring::new(Secret::new("k1", &[7; 32]).unwrap());
    let guard = fixture.builder(2).await.keyring(keyring).build().await.unwrap();
    let pay = async |amount| {
        let request = guard.request(scope(), key("k")).of(&Payment { amount, note: "rent" }).unwrap();
        guard.run(&policy(), request, async |_: &mut Mutation<F::S>| Ok::<_, Error>(Success::new(()))).await
    };
    pay(10).await.unwrap();
    let Err(Error::Conflict { changed }) = pay(1000).await else { panic!("another amount is a conflict") };
    assert_eq!(changed, ["amount"]);
    let record = read::<F>(&guard, &policy(), "k").await.record;
    assert!(record.request_hash.starts_with("v1:k1:"));
    // Rotation: a guard with a newer secret still compares by the old one; a stranger refuses.
    let rotated =
        Keyring::new(Secret::new("k2", &[8; 32]).unwrap()).accept(Secret::new("k1", &[7; 32]).unwrap());
    for (keyring, refused) in [(rotated, false), (Keyring::plain(), true)] {
        let guard = fixture.builder(2).await.keyring(keyring).build().await.unwrap();
        let request = guard.request(scope(), key("k")).of(&Payment { amount: 10, note: "rent" }).unwrap();
        let again: Result<Outcome<()>, Error> =
            guard.run(&policy(), request, async |_: &mut Mutation<F::S>| panic!("it ran before")).await;
        assert_eq!(matches!(again, Err(Error::UnknownFingerprint)), refused, "{again:?}");
    }
}

async fn scopes_and_routes_do_not_share_keys<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let ran = AtomicU32::new(0);
    for (tenant, user, route) in [
        ("acme", "user-7", "orders.create"),
        ("acme", "user-8", "orders.create"),
        ("umbrella", "user-7", "orders.create"),
        ("acme", "user-7", "orders.cancel"),
        ("acme:user", "-7", "orders.create"),
    ] {
        let policy = Policy::new(route).unwrap();
        let scope = idem_runtime::Scope::new(tenant, user).unwrap();
        let request = guard.request(scope, key("k")).of(&(tenant, user)).unwrap();
        guard
            .run(&policy, request, async |_: &mut Mutation<F::S>| {
                ran.fetch_add(1, Ordering::SeqCst);
                Ok::<_, Error>(Success::new(()))
            })
            .await
            .unwrap();
    }
    assert_eq!(ran.load(Ordering::SeqCst), 5);
}

async fn a_record_past_its_life_is_free_for_another_request<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let ran = AtomicU32::new(0);
    order::<F>(&guard, &policy(), "k", "book", &ran).await.unwrap();
    F::pass(guard.pool(), SECOND * 3600 * 24).await;
    let anew = order::<F>(&guard, &policy(), "k", "pen", &ran).await.unwrap();
    assert!(!anew.is_replay());
    assert_eq!(anew.attempt(), 2);
    assert_eq!(ran.load(Ordering::SeqCst), 2);
}

async fn a_value_that_no_longer_fits_its_type_is_an_error_and_runs_nothing<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    order::<F>(&guard, &policy(), "k", "book", &AtomicU32::new(0)).await.unwrap();
    let number: Result<Outcome<u64>, Error> = guard
        .run(&policy(), request::<F>(&guard, "k", "book"), async |_: &mut Mutation<F::S>| {
            panic!("it ran before")
        })
        .await;
    assert!(matches!(number, Err(Error::ReplayUnreadable { .. })), "{number:?}");
    let record = read::<F>(&guard, &policy(), "k").await.record;
    assert_eq!(record.answer.unwrap().body, AnswerBody::Kept(br#""order of k""#.to_vec()));
}

on_every_database! {
    a_repetition_gets_the_recorded_answer_and_nothing_runs_again,
    another_request_with_the_same_key_is_a_conflict_on_every_path,
    a_conflict_names_the_members_that_differ_when_there_is_a_secret,
    scopes_and_routes_do_not_share_keys,
    a_record_past_its_life_is_free_for_another_request,
    a_value_that_no_longer_fits_its_type_is_an_error_and_runs_nothing,
}
