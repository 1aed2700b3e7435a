//! What a body is promised that publishes.

use idem_runtime::outbox::{Event, EventError};
use idem_runtime::{Error, Mutation, Scope, Success};
use idem_tests::{key, on_every_database, policy, scope};

use crate::*;

async fn an_event_of_a_rolled_back_body_does_not_exist<F: WithOutbox>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let request = guard.request(scope(), key("k")).of("book").unwrap();
    let failed = guard
        .run(&policy(), request, async |mutation: &mut Mutation<F::S>| {
            mutation.publish(Event::new("test.rows", 1, &task("a"))).await.unwrap();
            Err::<Success<()>, _>(Error::Failed)
        })
        .await;
    assert!(failed.is_err());
    assert!(events::<F>(&guard).await.is_empty());
}

async fn an_event_says_whose_it_is_and_who_caused_it<F: WithOutbox>() {
    let fixture = F::create().await;
    let headers = |headers: &mut std::collections::BTreeMap<String, String>| {
        headers.insert("traceparent".to_owned(), "00-1".to_owned());
    };
    let guard = fixture.builder(2).await.event_headers(headers).build().await.unwrap();
    let event = Event::new("test.rows", 3, &task("ä")).aggregate("Order 17 ").header("source", "shop");
    publish::<F>(&guard, "k", event).await;
    publish::<F>(&guard, "l", Event::new("test.rows", 1, "x").on_behalf_of(Scope::new("b", "c").unwrap()))
        .await;

    let [first, second] = &events::<F>(&guard).await[..] else { panic!("two events") };
    let event = &first.event;
    assert_eq!((event.tenant.as_str(), event.actor.as_str()), ("acme", "user-7"));
    assert_eq!((event.event_type.as_str(), event.version), ("test.rows", 3));
    assert_eq!(event.aggregate.as_deref(), Some("Order 17 "));
    assert_eq!(event.payload, r#"{"name":"ä","failures":0,"then":"Succeed"}"#);
    assert_eq!(event.headers, r#"{"source":"shop","traceparent":"00-1"}"#);
    assert_eq!((second.event.tenant.as_str(), second.event.actor.as_str()), ("b", "c"));
}

async fn the_first_event_is_bound_unless_another_is_named<F: WithOutbox>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    for (name, named) in [("first", false), ("named", true)] {
        let request = guard.request(scope(), key(name)).of(name).unwrap();
        let outcome = guard
            .run(&policy(), request, async |mutation: &mut Mutation<F::S>| {
                let first = mutation.publish(Event::new("test.rows", 1, &task("a"))).await.unwrap();
                let second = mutation.publish(Event::new("test.rows", 1, &task("b"))).await.unwrap();
                if named {
                    mutation.bind_outbox_event(second.to_string());
                }
                Ok::<_, Error>(Success::new(if named { second.to_string() } else { first.to_string() }))
            })
            .await
            .unwrap();
        assert_eq!(outcome.outbox_event_id(), Some(outcome.value().as_str()), "{name}");
    }
    assert_eq!(events::<F>(&guard).await.len(), 4);
}

async fn an_event_that_cannot_be_written_is_refused_with_a_reason<F: WithOutbox>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let unserializable = std::collections::BTreeMap::from([((1, 2), 3)]);
    let request = guard.request(scope(), key("k")).of("book").unwrap();
    guard
        .run(&policy(), request, async |mutation: &mut Mutation<F::S>| {
            for event in [
                Event::new("Order/created", 1, "x"),
                Event::new("", 1, "x"),
                Event::new("test.rows", 1, &unserializable),
                Event::new("test.rows", 1, &"x".repeat(2 * 1024 * 1024)),
                Event::new("test.rows", 1, "x").aggregate(""),
                Event::new("test.rows", 1, "x").aggregate("x".repeat(256)),
            ] {
                let shown = format!("{event:.100?}");
                let Err(sqlx::Error::Encode(error)) = mutation.publish(event).await else {
                    panic!("{shown}")
                };
                assert!(error.downcast_ref::<EventError>().is_some(), "{error}");
            }
            Ok::<_, Error>(Success::new(()))
        })
        .await
        .unwrap();
    assert!(events::<F>(&guard).await.is_empty());
}

async fn a_large_payload_arrives_whole<F: WithOutbox>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let text = "ü".repeat(400_000);
    publish::<F>(&guard, "k", Event::new("test.rows", 1, &text)).await;
    let stored = &events::<F>(&guard).await[0].event.payload;
    assert!(serde_json::from_str::<String>(stored).unwrap() == text);
}

on_every_database! {
    an_event_of_a_rolled_back_body_does_not_exist,
    an_event_says_whose_it_is_and_who_caused_it,
    the_first_event_is_bound_unless_another_is_named,
    an_event_that_cannot_be_written_is_refused_with_a_reason,
    a_large_payload_arrives_whole,
}
