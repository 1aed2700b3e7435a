//! Bodies at stricter isolation: a long one is not broken by us, and a conflict of its own rows is not final.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::postgres::{Guard, Mutation};
use idem_runtime::store::{Fault, Store};
use idem_runtime::{Error, Outcome, Status, Success};
use idem_tests::{Fixture, OnPostgres, policy};
use sqlx::{PgConnection, Postgres};

use crate::*;

#[tokio::test]
async fn a_body_longer_than_its_lease_is_not_broken_by_a_renewal() {
    for level in SNAPSHOT_LEVELS {
        let (fixture, guard) = snapshot_guard(level, 4).await;
        let policy = policy().lease(Duration::from_millis(300)).max_run(Duration::from_secs(10));
        let ran = guard
            .run(&policy, request(&guard, "k"), async |mutation: &mut Mutation| {
                // The snapshot is taken here; from now on nobody may change the record.
                OnPostgres::effect(mutation, "k").await.unwrap();
                let claimed = read(&guard, "k").await;
                loop {
                    let reading = read(&guard, "k").await;
                    if claimed.now.until(reading.now) > Duration::from_millis(900) {
                        assert_eq!(reading.record, claimed.record, "{level}");
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                // A duplicate meets a live lease, however long the body is past the one that was declared.
                let (twin, policy) = (guard.clone(), policy.clone());
                let duplicate = tokio::spawn(async move {
                    let request = request(&twin, "k");
                    twin.run(&policy, request, async |_: &mut Mutation| -> Result<_, Error> {
                        panic!("a duplicate ran beside a live body")
                    })
                    .await
                    .map(|outcome: Outcome<()>| outcome.into_value())
                });
                let refused = duplicate.await.unwrap();
                assert!(matches!(refused, Err(Error::InProgress { .. })), "{level}: {refused:?}");
                Ok::<_, Error>(Success::new(()))
            })
            .await;
        assert_eq!(ran.unwrap().attempt(), 1, "{level}");
        assert_eq!(OnPostgres::effects(guard.pool(), "k").await, 1);
        fixture.0.drop_database().await;
    }
}

/// A row that both sides of a conflict want.
async fn seat(guard: &Guard) {
    let mut connection = guard.pool().acquire().await.unwrap();
    OnPostgres::execute(&mut connection, "CREATE TABLE seats (id bigint PRIMARY KEY, taken bigint NOT NULL)")
        .await
        .unwrap();
    OnPostgres::execute(&mut connection, "INSERT INTO seats VALUES (1, 0), (2, 0)").await.unwrap();
}

async fn take(connection: &mut PgConnection, seat: i64) -> sqlx::Result<()> {
    let taken = format!("UPDATE seats SET taken = taken + 1 WHERE id = {seat}");
    OnPostgres::execute(connection, &taken).await.map(drop)
}

async fn taken(connection: &mut PgConnection) -> i64 {
    OnPostgres::number(connection, "SELECT sum(taken)::bigint FROM seats").await.unwrap()
}

/// Somebody else reads all seats and takes one, in a transaction that commits.
async fn rival(guard: &Guard, seat: i64) {
    let mut transaction = guard.pool().begin().await.unwrap();
    taken(&mut transaction).await;
    take(&mut transaction, seat).await.unwrap();
    transaction.commit().await.unwrap();
}

async fn assert_released(guard: &Guard) {
    let record = read(guard, "k").await.record;
    assert_eq!((record.status, record.answer), (Status::Failed, None));
    assert!(record.released_at.is_some(), "a conflict is not pinned as a failure");
}

fn is_conflict(error: &Error) -> bool {
    let Error::StoreUnavailable(Some(cause)) = error else { return false };
    cause.downcast_ref().is_some_and(|cause| Postgres::classify(cause) == Fault::Again)
}

#[tokio::test]
async fn a_conflict_that_is_seen_at_the_commit_is_released_and_runs_again() {
    let (fixture, guard) = snapshot_guard("serializable", 4).await;
    seat(&guard).await;
    let ran = AtomicU32::new(0);
    let book = async || -> Result<Outcome<i64>, Error> {
        guard
            .run(&policy(), request(&guard, "k"), async |mutation: &mut Mutation| {
                // Each of the two reads what the other one writes: only one of them can have come first.
                let before = taken(mutation).await;
                take(mutation, 1).await.unwrap();
                if ran.fetch_add(1, Ordering::SeqCst) == 0 {
                    rival(&guard, 2).await;
                }
                Ok(Success::new(before))
            })
            .await
    };
    let refused = book().await.unwrap_err();
    assert!(is_conflict(&refused), "{refused:?}");
    assert_eq!((refused.status(), refused.is_retryable()), (503, true));
    assert_eq!(taken(&mut guard.pool().acquire().await.unwrap()).await, 1, "the rival's alone");
    assert_released(&guard).await;
    let booked = book().await.unwrap();
    assert_eq!((*booked.value(), booked.attempt()), (1, 2));
    assert_eq!(taken(&mut guard.pool().acquire().await.unwrap()).await, 2);
    fixture.0.drop_database().await;
}

#[tokio::test]
async fn a_conflict_inside_the_body_is_released_and_runs_again_where_the_route_says_so() {
    for level in SNAPSHOT_LEVELS {
        let (fixture, guard) = snapshot_guard(level, 4).await;
        seat(&guard).await;
        let ran = AtomicU32::new(0);
        let book = async || -> Result<Outcome<i64>, Error> {
            guard
                .operation(&policy(), request(&guard, "k"))
                .release_on(is_conflict)
                .run(async |mutation: &mut Mutation| {
                    let before = taken(mutation).await;
                    if ran.fetch_add(1, Ordering::SeqCst) == 0 {
                        rival(&guard, 1).await;
                    }
                    let took = take(mutation, 1).await;
                    took.map_err(|error| Error::StoreUnavailable(Some(error.into())))?;
                    Ok(Success::new(before))
                })
                .await
        };
        let refused = book().await.unwrap_err();
        assert!(is_conflict(&refused), "{level}: {refused:?}");
        assert_released(&guard).await;
        let booked = book().await.unwrap();
        assert_eq!((*booked.value(), booked.attempt()), (1, 2), "{level}");
        assert_eq!(taken(&mut guard.pool().acquire().await.unwrap()).await, 2, "{level}");
        fixture.0.drop_database().await;
    }
}
