//! A dispatcher that stopped or froze: its events go on, and what it wakes up with counts for nothing.

use idem_runtime::store::EventStatus;
use idem_tests::on_every_database;

use crate::*;

async fn a_zombie_cannot_commit_an_event_that_another_dispatcher_took<F: WithOutbox>() {
    if <F::S as idem_runtime::store::Store>::SINGLE_WRITER {
        // Nobody can take the event while the zombie's transaction holds the only write lock.
        return;
    }
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    publish_task::<F>(&guard, "rows", &Task { then: Then::Wait, ..task("a") }).await;
    let zombie = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    let zombie = tokio::spawn(async move { zombie.deliver_due().await.unwrap() });
    stage.0.waiting.notified().await;

    // Frozen for longer than its lease, while somebody else takes the event and begins with it.
    execute::<F>(&guard, "UPDATE idempotency_outbox_events SET due_at = created_at").await;
    let next = dispatcher::<F>(&fixture.guard(4).await, &stage).build().await.unwrap();
    let next = tokio::spawn(async move { next.deliver_due().await.unwrap() });
    stage.0.waiting.notified().await;
    stage.0.go_on.notify_one();
    let zombie = zombie.await.unwrap();
    assert_eq!((zombie.delivered, zombie.dead), (0, 0), "its mark touched no row");
    assert_eq!(F::effects(guard.pool(), "a").await, 0, "and its rows went with it");

    stage.0.go_on.notify_one();
    assert_eq!(next.await.unwrap().delivered, 1);
    assert_eq!(F::effects(guard.pool(), "a").await, 1);
    let event = event_of::<F>(&guard, "a").await;
    assert_eq!((event.deliveries, event.last_error), (2, None), "nor did its pause");
}

/// The next one has finished, and its record stands.
async fn a_zombie_that_wakes_up_after_the_event_was_delivered_leaves_nothing<F: WithOutbox>() {
    if <F::S as idem_runtime::store::Store>::SINGLE_WRITER {
        return;
    }
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    publish_task::<F>(&guard, "rows", &Task { then: Then::Wait, ..task("a") }).await;
    let zombie = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    let zombie = tokio::spawn(async move { zombie.deliver_due().await.unwrap() });
    stage.0.waiting.notified().await;
    execute::<F>(&guard, "UPDATE idempotency_outbox_events SET due_at = created_at").await;
    let other = Stage::default();
    let next = dispatcher::<F>(&fixture.guard(4).await, &other).build().await.unwrap();
    other.0.go_on.notify_one();
    assert_eq!(next.deliver_due().await.unwrap().delivered, 1);

    stage.0.go_on.notify_one();
    assert_eq!(zombie.await.unwrap().delivered, 0);
    assert_eq!(F::effects(guard.pool(), "a").await, 1);
    assert_eq!(status_of::<F>(&guard, "a").await, EventStatus::Delivered);
    assert_eq!(next.deliver_due().await.unwrap().delivered, 0);
}

async fn an_event_of_a_dispatcher_that_stopped_is_delivered_when_its_lease_ends<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "rows", &task("a")).await;
    let mut connection = guard.pool().acquire().await.unwrap();
    assert_eq!(F::S::take(&mut connection, uuid::Uuid::new_v4(), HOUR, 10).await.unwrap().len(), 1);
    drop(connection);
    let dispatcher = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 0, "it is held");
    execute::<F>(&guard, "UPDATE idempotency_outbox_events SET due_at = created_at").await;
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 1);
}

async fn a_long_delivery_keeps_its_lease<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    publish_task::<F>(&guard, "outside", &Task { then: Then::Wait, ..task("a") }).await;
    let lease = Duration::from_millis(300);
    let holder = dispatcher::<F>(&guard, &stage).lease(lease).build().await.unwrap();
    let holder = tokio::spawn(async move { holder.deliver_due().await.unwrap() });
    stage.0.waiting.notified().await;
    // However slow the machine is: each look finds the event held, or it was renewed too late and the record
    // turns the other one away; the handler runs once either way.
    let other = dispatcher::<F>(&fixture.guard(4).await, &stage).build().await.unwrap();
    for _ in 0..10 {
        tokio::time::sleep(lease / 2).await;
        assert_eq!(other.deliver_due().await.unwrap().delivered, 0);
    }
    stage.0.go_on.notify_one();
    holder.await.unwrap();
    while status_of::<F>(&guard, "a").await == EventStatus::Pending {
        execute::<F>(&guard, "UPDATE idempotency_outbox_events SET due_at = created_at").await;
        other.deliver_due().await.unwrap();
    }
    assert_eq!(stage.times("outside", "a"), 1);
}

async fn of_many_dispatchers_each_event_has_one<F: WithOutbox>() {
    const EVENTS: u64 = 60;
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    for number in 0..EVENTS {
        publish_task::<F>(&guard, "rows", &task(&format!("t{number}"))).await;
    }
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let dispatcher =
            dispatcher::<F>(&fixture.guard(8).await, &stage).concurrency(4).build().await.unwrap();
        running.spawn(async move { dispatcher.deliver_due().await.unwrap().delivered });
    }
    let mut delivered = 0;
    while let Some(done) = running.join_next().await {
        delivered += done.unwrap();
    }
    assert_eq!(delivered, EVENTS);
    for number in 0..EVENTS {
        assert_eq!(F::effects(guard.pool(), &format!("t{number}")).await, 1, "t{number}");
    }
}

on_every_database! {
    a_zombie_cannot_commit_an_event_that_another_dispatcher_took,
    a_zombie_that_wakes_up_after_the_event_was_delivered_leaves_nothing,
    an_event_of_a_dispatcher_that_stopped_is_delivered_when_its_lease_ends,
    a_long_delivery_keeps_its_lease,
    of_many_dispatchers_each_event_has_one,
}
