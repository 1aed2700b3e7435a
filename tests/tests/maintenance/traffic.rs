//! What is counted of the answers, and written down.

use idem_runtime::store::{ConnectionOf, Inspect, Maintain, Traffic};
use idem_runtime::{Error, Success};
use idem_tests::{Fixture, key, on_every_database, policy, scope};

use crate::{At, Guard, eager};

/// So many answers of the route of most tests.
fn answers(executed: u64, replayed: u64) -> Traffic {
    Traffic { route: policy().route().to_string(), executed, replayed }
}

impl<F: Fixture<S: Maintain + Inspect>> At<F> {
    /// What was written down in so many days.
    async fn traffic(&self, days: u32) -> Vec<Traffic> {
        let connection: &mut ConnectionOf<F::S> = &mut self.guard.pool().acquire().await.unwrap();
        F::S::traffic(connection, days).await.unwrap()
    }

    async fn add(&self, traffic: &Traffic) {
        let connection: &mut ConnectionOf<F::S> = &mut self.guard.pool().acquire().await.unwrap();
        F::S::add_traffic(connection, traffic).await.unwrap();
    }

    async fn forget(&self, days: u32) {
        let connection: &mut ConnectionOf<F::S> = &mut self.guard.pool().acquire().await.unwrap();
        F::S::forget_traffic(connection, days).await.unwrap();
    }
}

/// One request; whether it got an answer.
async fn ask<F: Fixture>(guard: &Guard<F>, name: &str, what: &str) -> bool {
    let request = guard.request(scope(), key(name)).of(what).unwrap();
    let body = async |_: &mut idem_runtime::Mutation<F::S>| Ok::<_, Error>(Success::new(()));
    guard.run(&policy(), request, body).await.is_ok()
}

async fn the_answers_of_all_processes_add_up_and_refusals_are_none<F: Fixture<S: Maintain + Inspect>>() {
    let at = At::<F>::fresh().await;
    let other = at.fixture.guard(4).await;
    assert!(ask::<F>(&at.guard, "uncounted", "book").await);
    let (first, second) = (at.sweeps(eager()), other.spawn_maintenance(eager()));
    assert!(ask::<F>(&at.guard, "a", "book").await);
    assert!(ask::<F>(&at.guard, "a", "book").await);
    assert!(ask::<F>(&other, "a", "book").await);
    assert!(ask::<F>(&other, "b", "book").await);
    assert!(!ask::<F>(&other, "b", "another book").await, "the key is taken");
    first.shutdown().await;
    second.shutdown().await;
    assert_eq!(at.traffic(2).await, [answers(2, 2)]);
}

async fn numbers_that_could_not_be_written_are_written_the_next_time<F: Fixture<S: Maintain + Inspect>>() {
    let at = At::<F>::fresh().await;
    let sweeps = at.sweeps(eager());
    at.execute("ALTER TABLE idempotency_traffic RENAME TO elsewhere").await;
    assert!(ask::<F>(&at.guard, "a", "book").await);
    // Its last write finds no table.
    sweeps.shutdown().await;
    at.execute("ALTER TABLE elsewhere RENAME TO idempotency_traffic").await;
    assert_eq!(at.traffic(2).await, []);
    let sweeps = at.sweeps(eager());
    assert!(ask::<F>(&at.guard, "a", "book").await);
    sweeps.shutdown().await;
    assert_eq!(at.traffic(2).await, [answers(1, 1)]);
}

async fn of_many_that_add_at_once_none_is_lost<F: Fixture<S: Maintain + Inspect>>() {
    let at = At::<F>::fresh().await;
    futures_util::future::join_all((0..40).map(|_| async { at.add(&answers(2, 3)).await })).await;
    assert_eq!(at.traffic(2).await, [answers(80, 120)]);
}

async fn days_that_are_not_asked_for_do_not_count_and_old_ones_are_forgotten<
    F: Fixture<S: Maintain + Inspect>,
>() {
    let at = At::<F>::fresh().await;
    at.add(&answers(1, 1)).await;
    at.execute("INSERT INTO idempotency_traffic (day, route, executed, replayed) VALUES ('2001-02-28', 'orders.create', 5, 5)")
        .await;
    assert_eq!(at.traffic(2).await, [answers(1, 1)]);
    assert_eq!(at.traffic(36_500).await, [answers(6, 6)]);
    assert_eq!(at.traffic(0).await, [], "today is the first day that is asked for");
    let sweeps = at.sweeps(eager());
    at.until("SELECT count(*) FROM idempotency_traffic", 1).await;
    sweeps.shutdown().await;
    assert_eq!(at.traffic(36_500).await, [answers(1, 1)]);
    at.forget(2).await;
    assert_eq!(at.traffic(2).await, [answers(1, 1)], "today is one of two days");
    at.forget(0).await;
    assert_eq!(at.traffic(2).await, []);
}

on_every_database! {
    the_answers_of_all_processes_add_up_and_refusals_are_none,
    numbers_that_could_not_be_written_are_written_the_next_time,
    of_many_that_add_at_once_none_is_lost,
    days_that_are_not_asked_for_do_not_count_and_old_ones_are_forgotten,
}
