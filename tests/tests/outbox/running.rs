//! A dispatcher that runs: what wakes it, and how it stops.

use idem_runtime::outbox::Event;
use idem_runtime::store::{EventStatus, Store};
use idem_runtime::{Error, Mutation, Success};
use idem_tests::{key, on_every_database, policy, scope};

use crate::*;

async fn delivered<F: WithOutbox>(guard: &Guard<F>, name: &str) {
    while status_of::<F>(guard, name).await != EventStatus::Delivered {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn a_commit_in_the_same_process_wakes_the_dispatcher<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    let running = dispatcher::<F>(&guard, &stage).look_every(HOUR).build().await.unwrap().spawn();
    for name in ["a", "b", "c"] {
        publish_task::<F>(&guard, "rows", &task(name)).await;
        delivered::<F>(&guard, name).await;
    }
    running.shutdown().await;
}

async fn a_commit_of_another_process_is_found<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    // PostgreSQL tells it; the others look.
    let look_every = if F::S::ANNOUNCES { HOUR } else { Duration::from_millis(20) };
    let running = dispatcher::<F>(&guard, &stage).look_every(look_every).build().await.unwrap().spawn();
    let other = fixture.guard(4).await;
    for name in ["a", "b", "c"] {
        publish_task::<F>(&other, "rows", &task(name)).await;
        delivered::<F>(&guard, name).await;
    }
    running.shutdown().await;
}

async fn a_shutdown_finishes_what_was_begun_and_takes_no_more<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    publish_task::<F>(&guard, "outside", &Task { then: Then::Wait, ..task("a") }).await;
    let running = dispatcher::<F>(&guard, &stage).concurrency(1).build().await.unwrap().spawn();
    stage.0.waiting.notified().await;
    publish_task::<F>(&guard, "outside", &task("b")).await;
    let stopping = tokio::spawn(running.shutdown());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!stopping.is_finished(), "it waits for the handler");
    stage.0.go_on.notify_one();
    stopping.await.unwrap();
    assert_eq!(status_of::<F>(&guard, "a").await, EventStatus::Delivered);
    assert_eq!(status_of::<F>(&guard, "b").await, EventStatus::Pending);
}

async fn an_event_whose_transaction_commits_late_is_not_skipped<F: WithOutbox>() {
    if F::S::SINGLE_WRITER {
        // There is one open transaction at a time, so none commits behind a later one.
        return;
    }
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    let (written, go_on) = (Notify::new(), Notify::new());
    let request = guard.request(scope(), key("late")).of("late").unwrap();
    let late = guard.run(&policy(), request, async |mutation: &mut Mutation<F::S>| {
        mutation.publish(Event::new("test.rows", 1, &task("late"))).await.unwrap();
        written.notify_one();
        go_on.notified().await;
        Ok::<_, Error>(Success::new(()))
    });
    let meanwhile = async {
        written.notified().await;
        publish_task::<F>(&guard, "rows", &task("early")).await;
        let dispatcher = dispatcher::<F>(&guard, &stage).build().await.unwrap();
        assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 1);
        go_on.notify_one();
        dispatcher
    };
    let (late, dispatcher) = tokio::join!(late, meanwhile);
    late.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 1);
    assert_eq!(F::effects(guard.pool(), "late").await, 1);
}

on_every_database! {
    a_commit_in_the_same_process_wakes_the_dispatcher,
    a_commit_of_another_process_is_found,
    a_shutdown_finishes_what_was_begun_and_takes_no_more,
    an_event_whose_transaction_commits_late_is_not_skipped,
}
