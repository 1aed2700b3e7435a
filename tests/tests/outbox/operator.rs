//! What an operator does with events: look, try again, give up, delete.

use idem_runtime::store::{EventFilter, EventStatus, Store};
use idem_runtime::{IdempotencyKey, RecordKey, Route};
use idem_tests::on_every_database;

use crate::*;

async fn a_dead_event_is_tried_again_when_an_operator_says_so<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "rows", &Task { failures: 2, ..task("a") }).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).max_deliveries(2).build().await.unwrap();
    while status_of::<F>(&guard, "a").await == EventStatus::Pending {
        dispatcher.deliver_due().await.unwrap();
    }
    let id = event_of::<F>(&guard, "a").await.event.id;
    let mut connection = guard.pool().acquire().await.unwrap();
    assert!(F::S::retry_event(&mut connection, id).await.unwrap());
    assert!(!F::S::retry_event(&mut connection, id).await.unwrap(), "it is pending by now");
    drop(connection);
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 1);
    let mut connection = guard.pool().acquire().await.unwrap();
    assert!(!F::S::retry_event(&mut connection, id).await.unwrap(), "it is delivered");
}

async fn a_failure_that_is_not_retried_is_refused_again_until_its_record_is_released<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "once", &Task { failures: 1, ..task("a") }).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().dead, 1);
    let id = event_of::<F>(&guard, "a").await.event.id;
    let retry = async || {
        let mut connection = guard.pool().acquire().await.unwrap();
        assert!(F::S::retry_event(&mut connection, id).await.unwrap());
    };
    retry().await;
    assert_eq!(dispatcher.deliver_due().await.unwrap().dead, 1);
    assert_eq!(stage.times("once", "a"), 1, "its record says that it failed");

    let handler_key = format!("once-{}", &<F::S as sqlx::Database>::NAME.to_lowercase()[..1]);
    let route = Route::outbox("test.once", 1, &handler_key).unwrap();
    let record = RecordKey::new(scope(), route, IdempotencyKey::new(id.to_string()).unwrap());
    let failed = guard.read(&record).await.unwrap().unwrap().record;
    let mut connection = guard.pool().acquire().await.unwrap();
    assert!(F::S::release(&mut connection, &record, failed.token, None).await.unwrap());
    drop(connection);
    retry().await;
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 1);
    assert_eq!(stage.times("once", "a"), 2);
}

async fn an_event_is_given_up_by_hand_unless_somebody_holds_it<F: WithOutbox>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    publish_task::<F>(&guard, "rows", &task("held")).await;
    let mut connection = guard.pool().acquire().await.unwrap();
    F::S::take(&mut connection, uuid::Uuid::new_v4(), HOUR, 10).await.unwrap();
    publish_task::<F>(&guard, "rows", &task("free")).await;
    for (name, given_up) in [("held", false), ("free", true)] {
        let id = event_of::<F>(&guard, name).await.event.id;
        assert_eq!(F::S::bury_event(&mut connection, id, "a typo").await.unwrap(), given_up, "{name}");
    }
    let event = event_of::<F>(&guard, "free").await;
    assert_eq!((event.status, event.last_error.as_deref()), (EventStatus::Dead, Some("a typo")));
}

async fn only_delivered_events_of_that_age_are_purged<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    for (name, failures) in [("a", 0), ("b", 0), ("dead", 9)] {
        publish_task::<F>(&guard, "rows", &Task { failures, ..task(name) }).await;
    }
    let dispatcher = dispatcher::<F>(&guard, &stage).max_deliveries(1).build().await.unwrap();
    dispatcher.deliver_due().await.unwrap();
    publish_task::<F>(&guard, "rows", &task("pending")).await;
    let mut connection = guard.pool().acquire().await.unwrap();
    assert_eq!(F::S::purgeable_events(&mut connection, HOUR).await.unwrap(), 0);
    assert_eq!(F::S::purge_events(&mut connection, HOUR, 100).await.unwrap(), 0);
    assert_eq!(F::S::purgeable_events(&mut connection, Duration::ZERO).await.unwrap(), 2);
    assert_eq!(F::S::purge_events(&mut connection, Duration::ZERO, 1).await.unwrap(), 1);
    assert_eq!(F::S::purge_events(&mut connection, Duration::ZERO, 100).await.unwrap(), 1);
    let left: Vec<EventStatus> = events::<F>(&guard).await.iter().map(|event| event.status).collect();
    assert_eq!(left, [EventStatus::Dead, EventStatus::Pending]);
}

async fn a_list_shows_what_was_asked_for<F: WithOutbox>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    for name in ["a", "b", "c"] {
        publish_task::<F>(&guard, if name == "c" { "two" } else { "rows" }, &task(name)).await;
    }
    let mut connection = guard.pool().acquire().await.unwrap();
    let all = F::S::events(&mut connection, &EventFilter::default(), 100).await.unwrap();
    let numbers = async |connection: &mut sqlx::pool::PoolConnection<F::S>, filter: EventFilter, limit| {
        let events = F::S::events(connection, &filter, limit).await.unwrap();
        events.iter().map(|event| event.sequence).collect::<Vec<_>>()
    };
    let [a, b, c] = [0, 1, 2].map(|index| all[index].sequence);
    let rows = EventFilter { event_type: Some("test.rows".to_owned()), ..EventFilter::default() };
    assert_eq!(numbers(&mut connection, rows.clone(), 100).await, [a, b]);
    assert_eq!(
        numbers(&mut connection, EventFilter { after: Some(a), ..EventFilter::default() }, 1).await,
        [b]
    );
    let nobody = EventFilter { tenant: Some("Acme".to_owned()), ..EventFilter::default() };
    assert!(numbers(&mut connection, nobody, 100).await.is_empty());
    let pending = EventFilter { status: Some(EventStatus::Pending), ..EventFilter::default() };
    assert_eq!(numbers(&mut connection, pending, 100).await, [a, b, c]);
    let groups = F::S::event_stats(&mut connection).await.unwrap();
    let counts: Vec<_> = groups.iter().map(|group| (group.event_type.as_str(), group.events)).collect();
    assert_eq!(counts, [("test.rows", 2), ("test.two", 1)]);
    let found = F::S::event(&mut connection, all[1].event.id).await.unwrap().unwrap();
    assert_eq!(found.sequence, b);
    assert!(F::S::event(&mut connection, uuid::Uuid::new_v4()).await.unwrap().is_none());
}

on_every_database! {
    a_dead_event_is_tried_again_when_an_operator_says_so,
    a_failure_that_is_not_retried_is_refused_again_until_its_record_is_released,
    an_event_is_given_up_by_hand_unless_somebody_holds_it,
    only_delivered_events_of_that_age_are_purged,
    a_list_shows_what_was_asked_for,
}
