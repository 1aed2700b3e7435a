//! The record of a delivery: one for each handler and event, whenever it is written.

use idem_runtime::store::EventStatus;
use idem_runtime::{Mode, Record, RecordKey, Status};
use idem_tests::on_every_database;

use crate::*;

/// The handler of this database: keys differ by it.
fn handler<F: WithOutbox>(name: &str) -> String {
    let suffix = match <F::S as sqlx::Database>::NAME {
        "SQLite" => "s",
        "PostgreSQL" => "p",
        _ => "m",
    };
    format!("{name}-{suffix}")
}

async fn record<F: WithOutbox>(guard: &Guard<F>, kind: &str, name: &str) -> Option<Record> {
    let event = event_of::<F>(guard, name).await.event;
    let route = format!("outbox:test.{kind}:1:{}", handler::<F>(kind));
    let key = RecordKey::stored(&event.tenant, &event.actor, &route, event.id.to_string()).unwrap();
    guard.read(&key).await.unwrap().map(|reading| reading.record)
}

async fn a_delivery_leaves_the_record_that_a_claimed_one_would<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "ends", &task("a")).await;
    publish_task::<F>(&guard, "ends", &task("b")).await;
    // Taken once before by somebody who stopped: this one is claimed.
    execute::<F>(&guard, "UPDATE idempotency_outbox_events SET attempt = 1 WHERE payload LIKE '%\"b\"%'")
        .await;
    let dispatcher = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 4, "two, and what they published");
    let (fenced, claimed) =
        (record::<F>(&guard, "ends", "a").await.unwrap(), record::<F>(&guard, "ends", "b").await.unwrap());
    assert_eq!(fenced.status, Status::Succeeded);
    assert_eq!(fenced.token.attempt, 1);
    assert_eq!(fenced.terms.mode, Mode::Transactional);
    assert_eq!((fenced.terms, &fenced.answer), (claimed.terms, &claimed.answer));
    assert_eq!(fenced.request_hash.split(':').next(), claimed.request_hash.split(':').next());
    let next = event_of::<F>(&guard, "a-next").await.event;
    assert_eq!(fenced.bindings.outbox_event_id, Some(next.id.to_string()));
    assert!(fenced.completed_at.is_some() && fenced.locked_until.is_none());
    assert_eq!(fenced.expires_at, fenced.completed_at.unwrap().plus(fenced.terms.ttl));
}

async fn a_failed_first_delivery_is_recorded_and_the_next_is_the_second_attempt<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    for (name, then, failures) in [("a", Then::Succeed, 1), ("b", Then::Panic, 0)] {
        publish_task::<F>(&guard, "rows", &Task { failures, then, ..task(name) }).await;
    }
    let patient = dispatcher::<F>(&guard, &stage).pauses(HOUR, HOUR).build().await.unwrap();
    assert_eq!(patient.deliver_due().await.unwrap().postponed, 2);
    for name in ["a", "b"] {
        let record = record::<F>(&guard, "rows", name).await.unwrap();
        assert_eq!((record.status, record.token.attempt, record.released_at), (Status::Failed, 1, None));
        assert_eq!(F::effects(guard.pool(), name).await, 0);
    }
    execute::<F>(&guard, "UPDATE idempotency_outbox_events SET due_at = created_at").await;
    assert_eq!(patient.deliver_due().await.unwrap().delivered, 1);
    let record = record::<F>(&guard, "rows", "a").await.unwrap();
    assert_eq!((record.status, record.token.attempt), (Status::Succeeded, 2));
}

/// As after a restored backup: the event looks as if nobody had ever taken it.
async fn a_record_that_is_there_wins_over_a_first_delivery<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "rows", &task("a")).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    for _ in 0..2 {
        assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 1);
        assert_eq!(F::effects(guard.pool(), "a").await, 1);
        assert_eq!(event_of::<F>(&guard, "a").await.status, EventStatus::Delivered);
        execute::<F>(
            &guard,
            "UPDATE idempotency_outbox_events SET status = 'pending', delivered_to = ' ', attempt = 0, \
             deliveries = 0, due_at = created_at",
        )
        .await;
    }
}

async fn a_handler_that_ends_its_transaction_is_not_run_again<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(4).await, Stage::default());
    publish_task::<F>(&guard, "ends", &Task { failures: 99, ..task("a") }).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).build().await.unwrap();
    while status_of::<F>(&guard, "a").await == EventStatus::Pending {
        dispatcher.deliver_due().await.unwrap();
    }
    assert_eq!(status_of::<F>(&guard, "a").await, EventStatus::Dead);
    assert_eq!(stage.times("ends", "a"), 1);
    assert!(record::<F>(&guard, "ends", "a").await.unwrap().outcome_unknown);
}

on_every_database! {
    a_delivery_leaves_the_record_that_a_claimed_one_would,
    a_failed_first_delivery_is_recorded_and_the_next_is_the_second_attempt,
    a_record_that_is_there_wins_over_a_first_delivery,
    a_handler_that_ends_its_transaction_is_not_run_again,
}
