//! What the maintenance in the background sweeps, what it leaves alone, and that one process does it at a time.

use std::time::Duration;

use idem_runtime::store::{ConnectionOf, Maintain, Store};
use idem_runtime::{
    Claim, Error, IdempotencyMutationGuard, Maintenance, MaintenanceHandle, Mutation, OnLapse, Policy,
    RecordKey, Success,
};
use idem_tests::{Fixture, key, on_every_database, policy, scope};
use tokio::sync::Notify;
use uuid::Uuid;

mod traffic;

type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

const DAY: Duration = Duration::from_hours(24);
const RECORDS: &str = "SELECT count(*) FROM idempotency_records";

/// A maintenance that does not rest.
fn eager() -> Maintenance {
    Maintenance::new().interval(Duration::from_millis(5))
}

/// The same that rests so long after each record that it never gets to its end.
fn tired() -> Maintenance {
    eager().batch(1).share(0.01)
}

/// Waits for something that comes about by itself; a minute is enough for it many times over.
async fn eventually(mut come: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !come().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), waiting).await.expect("it comes about");
}

struct At<F: Fixture> {
    fixture: F,
    guard: Guard<F>,
}

impl<F: Fixture<S: Maintain>> At<F> {
    async fn fresh() -> Self {
        let fixture = F::create().await;
        let guard = fixture.guard(4).await;
        Self { fixture, guard }
    }

    /// So many records that have succeeded.
    async fn records(&self, count: u32) {
        for number in 0..count {
            let request = self.guard.request(scope(), key(&format!("k-{number}"))).of("book").unwrap();
            let body = async |_: &mut Mutation<F::S>| Ok::<_, Error>(Success::new(()));
            self.guard.run(&policy(), request, body).await.unwrap();
        }
    }

    async fn pass(&self, span: Duration) {
        F::pass(self.guard.pool(), span).await;
    }

    async fn number(&self, sql: &str) -> i64 {
        let mut connection = self.guard.pool().acquire().await.unwrap();
        F::number(&mut connection, sql).await.unwrap()
    }

    async fn execute(&self, sql: &str) {
        let mut connection = self.guard.pool().acquire().await.unwrap();
        F::execute(&mut connection, sql).await.unwrap();
    }

    /// Waits until `sql` gives `number`.
    async fn until(&self, sql: &str, number: i64) {
        eventually(async || self.number(sql).await == number).await;
    }

    /// An attempt outside whose caller has left while its body ran.
    async fn left_behind(&self, policy: &Policy, name: &str) {
        let begun = Notify::new();
        let request = self.guard.request(scope(), key(name)).of("book").unwrap();
        let run = self.guard.run_external(policy, request, async |_: &Claim<F::S>| {
            begun.notify_one();
            std::future::pending::<Result<Success<()>, Error>>().await
        });
        tokio::select! {
            _ = run => unreachable!("it never ends"),
            () = begun.notified() => {}
        }
        assert!(self.guard.drain(Duration::from_mins(1)).await);
    }

    async fn hold(&self, holder: Uuid, lease: Duration) -> bool {
        let connection: &mut ConnectionOf<F::S> = &mut self.guard.pool().acquire().await.unwrap();
        F::S::hold(connection, holder, lease).await.unwrap()
    }

    fn sweeps(&self, maintenance: Maintenance) -> MaintenanceHandle {
        self.guard.spawn_maintenance(maintenance)
    }
}

async fn of_all_holders_at_once_one_gets_the_lease<F: Fixture<S: Maintain>>() {
    let at = At::<F>::fresh().await;
    for _ in 0..10 {
        let holders: Vec<_> = (0..4).map(|_| Uuid::new_v4()).collect();
        let held = holders.iter().map(|holder| at.hold(*holder, DAY));
        let held = futures_util::future::join_all(held).await;
        assert_eq!(held.iter().filter(|held| **held).count(), 1, "{held:?}");
        let winner = holders[held.iter().position(|held| *held).unwrap()];
        assert!(at.hold(winner, DAY).await, "its holder keeps it");
        assert!(!at.hold(Uuid::new_v4(), Duration::ZERO).await, "and nobody else gives it back");
        assert!(at.hold(winner, Duration::ZERO).await);
    }
}

async fn a_record_is_marked_at_its_end_and_deleted_when_it_was_kept_long_enough<F: Fixture<S: Maintain>>() {
    let at = At::<F>::fresh().await;
    at.records(5).await;
    at.pass(DAY + Duration::from_hours(1)).await;
    at.records(5).await;
    // Claimed anew by the second call: all five live again.
    at.pass(DAY + Duration::from_hours(1)).await;
    let sweeps = at.sweeps(eager().batch(2));
    let expired = "SELECT count(*) FROM idempotency_records WHERE status = 'expired'";
    at.until(expired, 5).await;
    at.pass(DAY).await;
    at.until(RECORDS, 0).await;
    sweeps.shutdown().await;
}

async fn leases_and_unknown_outcomes_are_left_alone<F: Fixture<S: Maintain>>() {
    let at = At::<F>::fresh().await;
    at.records(20).await;
    let [refuse, recover] = [OnLapse::Refuse, OnLapse::Recover].map(|way| policy().on_lapse(way));
    at.left_behind(&refuse, "refuse").await;
    at.left_behind(&recover, "recover").await;
    at.left_behind(&policy(), "unknown").await;
    let unknown = RecordKey::new(scope(), policy().route().clone(), key("unknown"));
    let token = at.guard.read(&unknown).await.unwrap().unwrap().record.token;
    let connection: &mut ConnectionOf<F::S> = &mut at.guard.pool().acquire().await.unwrap();
    assert!(F::S::mark_unknown(connection, &unknown, token).await.unwrap());
    at.pass(DAY * 30).await;
    let request = at.guard.request(scope(), key("leased")).of("book").unwrap();
    let running = at.guard.run_external(&policy(), request, async |_: &Claim<F::S>| {
        let sweeps = at.sweeps(eager().keep_for(Duration::ZERO).batch(3));
        at.until(RECORDS, 4).await;
        sweeps.shutdown().await;
        Ok::<_, Error>(Success::new(()))
    });
    running.await.unwrap();
    assert_eq!(at.number(RECORDS).await, 4, "one under a lease, and three that wait for somebody to decide");
}

async fn while_one_sweeps_the_others_do_not_and_its_shutdown_lets_them<F: Fixture<S: Maintain>>() {
    let at = At::<F>::fresh().await;
    let other = at.fixture.guard(4).await;
    at.records(30).await;
    at.pass(DAY * 30).await;
    let first = at.sweeps(tired());
    at.until("SELECT count(*) FROM idempotency_maintenance", 1).await;
    let second = other.spawn_maintenance(eager());
    let holders = "SELECT count(*) FROM idempotency_maintenance WHERE holder = (SELECT holder FROM holder)";
    at.execute("CREATE TABLE holder AS SELECT holder FROM idempotency_maintenance").await;
    eventually(async || {
        assert_eq!(at.number(holders).await, 1, "the second has taken over from one that is alive");
        at.number(RECORDS).await <= 25
    })
    .await;
    assert!(at.number(RECORDS).await > 0, "the first one is in no hurry, and the second one does nothing");
    first.shutdown().await;
    at.until(RECORDS, 0).await;
    assert_eq!(at.number(holders).await, 0);
    second.shutdown().await;
}

async fn the_lease_of_a_process_that_was_killed_lapses<F: Fixture<S: Maintain>>() {
    let at = At::<F>::fresh().await;
    at.records(3).await;
    at.pass(DAY * 30).await;
    assert!(at.hold(Uuid::new_v4(), DAY).await, "a holder that is never seen again");
    let sweeps = at.sweeps(eager());
    for _ in 0..20 {
        assert!(!at.hold(Uuid::new_v4(), DAY).await);
        assert_eq!(at.number(RECORDS).await, 3, "its lease lives");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let over = if std::any::type_name::<F>().ends_with("OnPostgres") {
        "UPDATE idempotency_maintenance SET locked_until = locked_until - interval '2 days'"
    } else {
        "UPDATE idempotency_maintenance SET locked_until = locked_until - 172800000000"
    };
    at.execute(over).await;
    at.until(RECORDS, 0).await;
    sweeps.shutdown().await;
}

async fn a_handle_that_is_dropped_stops_the_sweeps<F: Fixture<S: Maintain>>() {
    let at = At::<F>::fresh().await;
    at.records(30).await;
    at.pass(DAY * 30).await;
    drop(at.sweeps(tired()));
    let sweeps = at.sweeps(tired());
    eventually(async || at.number(RECORDS).await < 30).await;
    drop(sweeps);
    // It gives its lease back once it has stopped.
    eventually(async || at.hold(Uuid::nil(), DAY).await).await;
    let left = at.number(RECORDS).await;
    assert!(left > 0, "it was stopped half-way");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(at.number(RECORDS).await, left);
}

async fn a_database_that_fails_is_swept_once_it_is_back<F: Fixture<S: Maintain>>() {
    let at = At::<F>::fresh().await;
    at.records(3).await;
    at.pass(DAY * 30).await;
    at.execute("ALTER TABLE idempotency_records RENAME TO elsewhere").await;
    let sweeps = at.sweeps(eager());
    for _ in 0..3 {
        // A round takes its lease before it fails.
        at.until("SELECT count(*) FROM idempotency_maintenance", 1).await;
        at.execute("DELETE FROM idempotency_maintenance").await;
    }
    at.execute("ALTER TABLE elsewhere RENAME TO idempotency_records").await;
    at.until(RECORDS, 0).await;
    sweeps.shutdown().await;
}

on_every_database! {
    of_all_holders_at_once_one_gets_the_lease,
    a_record_is_marked_at_its_end_and_deleted_when_it_was_kept_long_enough,
    leases_and_unknown_outcomes_are_left_alone,
    while_one_sweeps_the_others_do_not_and_its_shutdown_lets_them,
    the_lease_of_a_process_that_was_killed_lapses,
    a_handle_that_is_dropped_stops_the_sweeps,
    a_database_that_fails_is_swept_once_it_is_back,
}
