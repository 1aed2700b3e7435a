//! Events of one aggregate come one after the other, all others side by side.

use idem_runtime::outbox::Event;
use idem_runtime::store::EventStatus;
use idem_tests::on_every_database;

use crate::*;

fn of(aggregate: &str, task: &Task) -> Event {
    Event::new("test.rows", 1, task).aggregate(aggregate)
}

async fn events_of_one_aggregate_come_in_the_order_in_which_they_were_published<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    for number in 0..10 {
        for aggregate in ["a", "b", "c"] {
            let name = format!("{aggregate}{number}");
            publish::<F>(&guard, &name, of(aggregate, &task(&name))).await;
        }
    }
    // Two of them, so that neither the queue nor one process alone makes the order.
    let (one, two) = (dispatcher::<F>(&guard, &stage), dispatcher::<F>(&fixture.guard(8).await, &stage));
    let (one, two) = (one.build().await.unwrap(), two.build().await.unwrap());
    let (first, second) = tokio::join!(one.deliver_due(), two.deliver_due());
    let mut done = first.unwrap().delivered + second.unwrap().delivered;
    while done < 30 {
        done += one.deliver_due().await.unwrap().delivered;
    }
    for aggregate in ["a", "b", "c"] {
        let mut order = stage.order("rows");
        order.retain(|name| name.starts_with(aggregate));
        let expected: Vec<String> = (0..10).map(|number| format!("{aggregate}{number}")).collect();
        assert_eq!(order, expected);
    }
}

async fn a_failed_event_holds_back_its_own_aggregate_alone<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    publish::<F>(&guard, "a1", of("a", &Task { failures: 1, ..task("a1") })).await;
    for (aggregate, name) in [("a", "a2"), ("a", "a3"), ("b", "b1")] {
        publish::<F>(&guard, name, of(aggregate, &task(name))).await;
    }
    let patient = dispatcher::<F>(&guard, &stage).pauses(HOUR, HOUR).build().await.unwrap();
    let done = patient.deliver_due().await.unwrap();
    assert_eq!((done.delivered, done.postponed), (1, 1));
    assert_eq!(status_of::<F>(&guard, "b1").await, EventStatus::Delivered);
    assert_eq!(stage.times("rows", "a2"), 0, "its predecessor is pending");

    execute::<F>(&guard, "UPDATE idempotency_outbox_events SET due_at = created_at WHERE status = 'pending'")
        .await;
    assert_eq!(patient.deliver_due().await.unwrap().delivered, 3);
    assert_eq!(stage.order("rows").split_off(2), ["a1", "a2", "a3"]);
}

async fn a_dead_event_lets_its_aggregate_go_on<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    publish::<F>(&guard, "a1", of("a", &Task { failures: 99, ..task("a1") })).await;
    publish::<F>(&guard, "a2", of("a", &task("a2"))).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).max_deliveries(1).build().await.unwrap();
    let done = dispatcher.deliver_due().await.unwrap();
    assert_eq!((done.dead, done.delivered), (1, 1));
}

async fn the_same_aggregate_of_two_tenants_is_two<F: WithOutbox>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    publish::<F>(&guard, "a1", of("a", &Task { failures: 1, ..task("a1") })).await;
    let other = idem_runtime::Scope::new("Acme", "user-7").unwrap();
    publish::<F>(&guard, "a2", of("a", &task("a2")).on_behalf_of(other)).await;
    publish::<F>(&guard, "a3", of("A", &task("a3"))).await;
    let dispatcher = dispatcher::<F>(&guard, &stage).pauses(HOUR, HOUR).build().await.unwrap();
    assert_eq!(dispatcher.deliver_due().await.unwrap().delivered, 2);
}

/// What a dispatcher takes after an event of an aggregate.
async fn the_next_events_are_taken_in_order_up_to_one_that_is_not_due<F: WithOutbox>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    for name in ["a1", "a2", "a3", "a4"] {
        publish::<F>(&guard, name, of("a", &task(name))).await;
    }
    publish::<F>(&guard, "b1", of("b", &task("b1"))).await;
    let mut connection = guard.pool().acquire().await.unwrap();
    let mut next = async |batch| {
        let taken = F::S::take_next(&mut connection, uuid::Uuid::new_v4(), HOUR, ("acme", "a"), batch).await;
        let name = |event: StoredEvent| serde_json::from_str::<Task>(&event.event.payload).unwrap().name;
        let taken = taken.unwrap();
        assert!(taken.iter().all(|event| event.attempt > 0 && event.claim_id.is_some()));
        taken.into_iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(next(2).await, ["a1", "a2"]);
    assert!(next(10).await.is_empty(), "the first is held, and a3 and a4 are behind it");
    let free = |number: &str| {
        format!("UPDATE idempotency_outbox_events SET due_at = created_at WHERE payload LIKE '%a{number}%'")
    };
    execute::<F>(&guard, &free("1")).await;
    assert_eq!(next(10).await, ["a1"], "a2 is held");
    execute::<F>(&guard, &free("1")).await;
    execute::<F>(&guard, &free("2")).await;
    assert_eq!(next(10).await, ["a1", "a2", "a3", "a4"]);
}

on_every_database! {
    the_next_events_are_taken_in_order_up_to_one_that_is_not_due,
    events_of_one_aggregate_come_in_the_order_in_which_they_were_published,
    a_failed_event_holds_back_its_own_aggregate_alone,
    a_dead_event_lets_its_aggregate_go_on,
    the_same_aggregate_of_two_tenants_is_two,
}
