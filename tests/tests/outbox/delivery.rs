//! How often a handler runs, and what becomes of an event that cannot be delivered.

use idem_runtime::outbox::{DispatcherError, Event};
use idem_runtime::store::EventStatus;
use idem_tests::on_every_database;

use crate::*;

async fn an_event_takes_effect_once<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "rows", &task("a")).await;
    publish_task::<F>(&guard, "outside", &task("b")).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 2);
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 0);
    assert_eq!(F::effects(guard.pool(), "a").await, 1);
    assert_eq!(stage.times("outside", "b"), 1);
    for event in events::<F>(&guard).await {
        assert_eq!(event.status, EventStatus::Delivered);
        assert!(event.completed_at.is_some());
    }
}

async fn an_event_that_is_delivered_twice_takes_effect_once<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "rows", &task("a")).await;
    publish_task::<F>(&guard, "outside", &task("b")).await;
    publish_task::<F>(&guard, "two", &task("c")).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    for _ in 0..3 {
        assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 3);
        // As a process leaves it that was killed before its mark was written, or a backup that was restored.
        execute::<F>(&guard, "UPDATE idempotency_outbox_events SET status = 'pending', delivered_to = ' ', due_at = created_at")
            .await;
    }
    assert_eq!(F::effects(guard.pool(), "a").await, 1);
    assert_eq!(F::effects(guard.pool(), "c").await, 2, "two handlers");
    assert_eq!((stage.times("rows", "a"), stage.times("outside", "b")), (1, 1));
}

async fn a_failed_handler_is_repeated_and_the_others_are_not<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "two", &Task { failures: 2, ..task("a") }).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    while status_of::<F>(&guard, "a").await == EventStatus::Pending {
        dispatcher.deliver_due().await.unwrap();
    }
    assert_eq!(status_of::<F>(&guard, "a").await, EventStatus::Delivered);
    assert_eq!((stage.times("first", "a"), stage.times("second", "a")), (1, 3));
    assert_eq!(F::effects(guard.pool(), "a").await, 2, "failed attempts left nothing");
    let event = event_of::<F>(&guard, "a").await;
    assert!(event.last_error.unwrap().contains("failure 2 of a"));
}

async fn a_poison_event_ends_dead_and_delays_nobody_else<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "rows", &Task { failures: 99, ..task("fails") }).await;
    publish_task::<F>(&guard, "rows", &Task { then: Then::Panic, ..task("panics") }).await;
    publish::<F>(&guard, "alien", Event::new("test.rows", 1, "no task")).await;
    publish_task::<F>(&guard, "rows", &task("good")).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).max_deliveries(3).build().await.unwrap();
    let first = dispatcher.deliver_due().await.unwrap();
    assert!(first.delivered == 1 && first.postponed >= 3, "{first:?}");
    let mut dead = first.dead;
    while dead < 3 {
        dead += dispatcher.deliver_due().await.unwrap().dead;
    }
    assert_eq!((stage.times("rows", "fails"), stage.times("rows", "panics")), (3, 3));
    for (name, error) in [("fails", "failure 3 of fails"), ("panics", "it panicked")] {
        let event = event_of::<F>(&guard, name).await;
        assert_eq!(event.status, EventStatus::Dead, "{name}");
        assert!(event.last_error.unwrap().contains(error), "{name}");
        assert_eq!(F::effects(guard.pool(), name).await, 0, "{name}");
    }
    assert_eq!(status_of::<F>(&guard, "good").await, EventStatus::Delivered);
    let alien =
        events::<F>(&guard).await.into_iter().find(|event| event.event.payload == "\"no task\"").unwrap();
    let error = alien.last_error.unwrap();
    assert!(
        error.contains("the payload is not what the handler takes") && !error.contains("no task"),
        "{error}"
    );
}

async fn a_failure_that_is_not_retried_ends_dead_at_once<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "once", &Task { failures: 99, ..task("a") }).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().dead, 1);
    assert_eq!(stage.times("once", "a"), 1);
}

async fn an_event_without_a_handler_is_kept_and_says_so<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish::<F>(&guard, "k", Event::new("test.rows", 2, &task("a"))).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).pauses(HOUR, HOUR).build().await.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().postponed, 1);
    let event = event_of::<F>(&guard, "a").await;
    assert_eq!(event.status, EventStatus::Pending);
    assert!(event.last_error.unwrap().contains("no handler of this program takes test.rows version 2"));
}

async fn deliveries_that_stop_without_a_word_come_to_an_end<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "rows", &task("a")).await;
    for _ in 0..3 {
        let mut connection = guard.pool().acquire().await.unwrap();
        let taken = F::S::take(&mut connection, uuid::Uuid::new_v4(), NOW, 10).await.unwrap();
        assert_eq!(taken.len(), 1, "its lease has ended");
        tokio::time::sleep(NOW * 5).await;
    }
    let dispatcher = dispatcher::<F>(&guard, &stage).max_deliveries(3).build().await.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().dead, 1);
    assert_eq!(stage.times("rows", "a"), 0);
}

async fn a_dispatcher_without_what_a_handler_takes_is_not_built<F: WithOutbox>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let error = Dispatcher::builder(guard).build().await.unwrap_err();
    assert!(
        matches!(&error, DispatcherError::MissingState { state, .. } if state.ends_with("Stage")),
        "{error}"
    );
}

on_every_database! {
    an_event_takes_effect_once,
    an_event_that_is_delivered_twice_takes_effect_once,
    a_failed_handler_is_repeated_and_the_others_are_not,
    a_poison_event_ends_dead_and_delays_nobody_else,
    a_failure_that_is_not_retried_ends_dead_at_once,
    an_event_without_a_handler_is_kept_and_says_so,
    deliveries_that_stop_without_a_word_come_to_an_end,
    a_dispatcher_without_what_a_handler_takes_is_not_built,
}
