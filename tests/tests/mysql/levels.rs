//! Bodies at each isolation level, with and without snapshots, and deadlocks between their rows.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::mysql::{Guard, Mutation};
use idem_runtime::store::is_transient;
use idem_runtime::{Error, Outcome, Status, Success};
use idem_tests::{Fixture, OnMysql, policy};
use sqlx::MySql;

use crate::*;

/// Both at which the store must work, and the strictest.
const LEVELS: [&str; 3] = ["READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];

async fn seats(guard: &Guard) {
    let mut connection = guard.pool().acquire().await.unwrap();
    let create = "CREATE TABLE seats (id bigint PRIMARY KEY, taken bigint NOT NULL) ENGINE = InnoDB";
    OnMysql::execute(&mut connection, create).await.unwrap();
    OnMysql::execute(&mut connection, "INSERT INTO seats VALUES (1, 0), (2, 0)").await.unwrap();
}

/// Runs a body three leases long that took its snapshot at its start; how often the record was renewed.
async fn a_long_body_commits(settings: &[(&str, &str)]) -> i64 {
    let (_fixture, pool) = sessions(settings).await;
    let guard = Guard::builder(pool).build().await.unwrap();
    let policy = policy().lease(Duration::from_millis(300)).max_run(Duration::from_secs(10));
    let ran: Result<Outcome<i64>, Error> = guard
        .run(&policy, request(&guard, "k"), async |mutation: &mut Mutation| {
            OnMysql::number(mutation, "SELECT count(*) FROM effects").await.unwrap();
            OnMysql::effect(mutation, "k").await.unwrap();
            let claimed = read(&guard, &policy, "k").await;
            loop {
                let reading = read(&guard, &policy, "k").await;
                if claimed.now.until(reading.now) > Duration::from_millis(900) {
                    return Ok(Success::new(reading.record.revision - claimed.record.revision));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    let ran = ran.unwrap_or_else(|error| panic!("{settings:?}: {error:?}"));
    assert_eq!(ran.attempt(), 1);
    assert_eq!(OnMysql::effects(guard.pool(), "k").await, 1);
    ran.into_value()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_longer_than_its_lease_commits_at_every_level_and_is_renewed() {
    for level in LEVELS {
        assert!(a_long_body_commits(&[("tx_isolation", level)]).await > 0, "{level}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_a_renewal_would_break_is_not_renewed() {
    for (level, renewed) in [("READ-COMMITTED", true), ("REPEATABLE-READ", false), ("SERIALIZABLE", false)] {
        let settings = [("tx_isolation", level), ("innodb_snapshot_isolation", "ON")];
        assert_eq!(a_long_body_commits(&settings).await > 0, renewed, "{level}");
    }
}

/// Makes the body's transaction the victim of a deadlock, and gives the error of the statement that met it.
async fn lose_a_deadlock(guard: &Guard, mutation: &mut Mutation) -> sqlx::Error {
    OnMysql::execute(mutation, "UPDATE seats SET taken = 1 WHERE id = 1").await.unwrap();
    let mut other = guard.pool().acquire().await.unwrap();
    OnMysql::execute(&mut other, "BEGIN").await.unwrap();
    // The server rolls back whoever changed less.
    for id in 10..60 {
        let more = format!("INSERT INTO seats VALUES ({id}, 1)");
        OnMysql::execute(&mut other, &more).await.unwrap();
    }
    OnMysql::execute(&mut other, "UPDATE seats SET taken = 2 WHERE id = 2").await.unwrap();
    let other = tokio::spawn(async move {
        OnMysql::execute(&mut other, "UPDATE seats SET taken = 2 WHERE id = 1").await.unwrap();
        OnMysql::execute(&mut other, "COMMIT").await.unwrap();
    });
    let waits = "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() \
                 AND info LIKE 'UPDATE seats SET taken = 2 WHERE id = 1%'";
    while OnMysql::number(&mut *guard.pool().acquire().await.unwrap(), waits).await.unwrap() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let lost = OnMysql::execute(mutation, "UPDATE seats SET taken = 1 WHERE id = 2").await.unwrap_err();
    assert!(is_transient::<MySql>(&lost), "{lost}");
    other.await.unwrap();
    lost
}

/// A guard whose bodies run at `level`, and rows for which they can fight.
async fn guard_at(level: &str) -> (OnMysql, Guard) {
    let (fixture, pool) = sessions(&[("tx_isolation", level)]).await;
    let guard = Guard::builder(pool).build().await.unwrap();
    seats(&guard).await;
    (fixture, guard)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_of_the_body_is_its_failure_and_no_unknown_outcome() {
    for level in LEVELS {
        let (_fixture, guard) = guard_at(level).await;
        let ran: Result<Outcome<()>, Error> = guard
            .run(&policy(), request(&guard, "k"), async |mutation: &mut Mutation| {
                let lost = lose_a_deadlock(&guard, mutation).await;
                Err(Error::StoreUnavailable(Some(lost.into())))
            })
            .await;
        assert!(matches!(ran, Err(Error::StoreUnavailable(Some(_)))), "{level}: {ran:?}");
        let record = read(&guard, &policy(), "k").await.record;
        assert_eq!((record.status, record.outcome_unknown), (Status::Failed, false), "{level}");
        let mut connection = guard.pool().acquire().await.unwrap();
        let left = "SELECT count(*) FROM seats WHERE id <= 2 AND taken = 2";
        assert_eq!(OnMysql::number(&mut connection, left).await.unwrap(), 2, "the other one stands alone");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_that_the_body_ignores_is_noticed_and_never_a_success() {
    for level in LEVELS {
        for writes_on in [false, true] {
            let (_fixture, guard) = guard_at(level).await;
            let ran: Result<Outcome<()>, Error> = guard
                .run(&policy(), request(&guard, "k"), async |mutation: &mut Mutation| {
                    lose_a_deadlock(&guard, mutation).await;
                    if writes_on {
                        // Outside of any transaction, so it stays.
                        OnMysql::effect(mutation, "k").await.unwrap();
                    }
                    Ok(Success::new(()))
                })
                .await;
            assert!(matches!(ran, Err(Error::TransactionEnded)), "{level}: {ran:?}");
            assert!(read(&guard, &policy(), "k").await.record.outcome_unknown, "{level}");
            assert_eq!(OnMysql::effects(guard.pool(), "k").await, i64::from(writes_on), "{level}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_is_released_and_runs_again_where_the_route_says_so() {
    for level in LEVELS {
        let (_fixture, guard) = guard_at(level).await;
        let ran = AtomicU32::new(0);
        let book = async || -> Result<Outcome<i64>, Error> {
            let operation = guard.operation(&policy(), request(&guard, "k")).release_on(Error::is_retryable);
            operation
                .run(async |mutation: &mut Mutation| {
                    if ran.fetch_add(1, Ordering::SeqCst) == 0 {
                        let lost = lose_a_deadlock(&guard, mutation).await;
                        return Err(Error::StoreUnavailable(Some(lost.into())));
                    }
                    OnMysql::effect(mutation, "k").await.unwrap();
                    Ok(Success::new(mutation.attempt()))
                })
                .await
        };
        assert!(matches!(book().await, Err(Error::StoreUnavailable(_))), "{level}");
        assert!(read(&guard, &policy(), "k").await.record.released_at.is_some(), "{level}");
        assert_eq!(*book().await.unwrap().value(), 2, "{level}");
        assert_eq!(OnMysql::effects(guard.pool(), "k").await, 1, "{level}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_goes_on_after_a_lost_transaction_is_not_taken_for_a_success() {
    let (_fixture, pool) = sessions(&[]).await;
    let guard = Guard::builder(pool).build().await.unwrap();
    for (name, ending) in [("altered", "CREATE TABLE seats (id bigint)"), ("undone", "ROLLBACK")] {
        let ran: Result<Outcome<()>, Error> = guard
            .run(&policy(), request(&guard, name), async |mutation: &mut Mutation| {
                OnMysql::execute(mutation, ending).await.unwrap();
                OnMysql::effect(mutation, name).await.unwrap();
                Ok(Success::new(()))
            })
            .await;
        assert!(matches!(ran, Err(Error::TransactionEnded)), "{name}: {ran:?}");
        assert!(read(&guard, &policy(), name).await.record.outcome_unknown, "{name}");
    }
}
