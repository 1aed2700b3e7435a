//! With keys, nothing that a body gave away can be read in the database; what is replayed is the same.

use idem_runtime::outbox::{Dispatcher, Event};
use idem_runtime::store::Outbox;
use idem_runtime::{Error, Mutation, Success};
use idem_tests::{Fixture, key, on_every_database, policy, scope};

use crate::service::{Answer, app, send};
use crate::{CANARY, Guard, holds, keys};

const ANN: Option<(&str, &str)> = Some(("acme", "ann"));

async fn cells_with_the_canary<F: Fixture>(guard: &Guard<F>) -> usize {
    F::cells(guard.pool()).await.iter().filter(|cell| holds(cell, CANARY)).count()
}

/// Leaves a secret everywhere: in a success, a failure, the steps of a failed attempt and an event.
async fn leave_secrets<F: Fixture<S: Outbox>>(guard: &Guard<F>) -> Vec<Answer> {
    let app = app::<F>(guard.clone());
    let mut answers = Vec::new();
    for path in ["/issue", "/refuse", "/step"] {
        answers.push(send(&app, path, "k", ANN).await);
    }
    let event = Event::new("test.secret", 1, CANARY).header("trace", CANARY);
    let request = guard.request(scope(), key("event")).of("event").unwrap();
    guard
        .run(&policy(), request, async |mutation: &mut Mutation<F::S>| {
            mutation.publish(event).await.unwrap();
            Ok::<_, Error>(Success::new(CANARY.to_owned()))
        })
        .await
        .unwrap();
    answers
}

async fn no_column_holds_a_secret_in_clear_where_the_guard_has_keys<F: Fixture<S: Outbox>>() {
    let fixture = F::create().await;
    let guard = fixture.builder(4).await.encryption(keys("k1", 1)).build().await.unwrap();
    leave_secrets::<F>(&guard).await;
    assert_eq!(cells_with_the_canary::<F>(&guard).await, 0);
    // The same without keys, so that the search is known to find what is there.
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    leave_secrets::<F>(&guard).await;
    assert!(
        cells_with_the_canary::<F>(&guard).await >= 6,
        "answers, headers, steps, payload and headers of an event"
    );
}

async fn what_is_sealed_is_replayed_continued_and_delivered<F: Fixture<S: Outbox>>() {
    let fixture = F::create().await;
    let guard = fixture.builder(4).await.encryption(keys("k1", 1)).build().await.unwrap();
    let firsts = leave_secrets::<F>(&guard).await;
    let app = app::<F>(guard.clone());
    for (path, first) in ["/issue", "/refuse"].iter().zip(&firsts) {
        let again = send(&app, path, "k", ANN).await;
        assert_eq!(
            (again.status, &again.body, again.is_replay()),
            (first.status, &first.body, true),
            "{path}"
        );
        assert_eq!(again.headers.get("link"), first.headers.get("link"));
        assert_eq!(again.headers.get("content-type"), first.headers.get("content-type"));
    }
    assert_eq!(send(&app, "/step", "k", ANN).await.text(), CANARY, "its step was kept by the first attempt");
    let again = send(&app, "/step", "k", ANN).await;
    assert_eq!((again.text(), again.is_replay()), (CANARY, true), "the answer of the second attempt");
    let dispatcher = Dispatcher::builder(guard.clone()).build().await.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 1);
    assert_eq!(F::effects(guard.pool(), &format!("{CANARY} {CANARY}")).await, 1);
    assert_eq!(F::effects(guard.pool(), "issued").await, 1);
}

async fn an_event_without_its_key_waits_and_is_not_lost<F: Fixture<S: Outbox>>() {
    let fixture = F::create().await;
    let guard = fixture.builder(4).await.encryption(keys("k1", 1)).build().await.unwrap();
    leave_secrets::<F>(&guard).await;
    let without = fixture.guard(4).await;
    let blind = Dispatcher::builder(without.clone()).build().await.unwrap();
    assert_eq!(blind.deliver_due().await.unwrap().delivered, 0);
    let mut connection = guard.pool().acquire().await.unwrap();
    let event = F::S::events(&mut connection, &idem_runtime::store::EventFilter::default(), 9)
        .await
        .unwrap()
        .remove(0);
    let error = event.last_error.unwrap();
    assert!(error.contains("`k1`") && !error.contains(CANARY), "{error}");
    assert!(!format!("{:?}", event.event).contains(CANARY));
    let due = "UPDATE idempotency_outbox_events SET due_at = created_at";
    F::execute(&mut connection, due).await.unwrap();
    drop(connection);
    let dispatcher = Dispatcher::builder(guard).build().await.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 1);
}

on_every_database! {
    no_column_holds_a_secret_in_clear_where_the_guard_has_keys,
    what_is_sealed_is_replayed_continued_and_delivered,
    an_event_without_its_key_waits_and_is_not_lost,
}
