//! No database at all, in each way in which one can be missing.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use idem_runtime::Status;
use idem_test_support::sqlite::SqliteDatabase;
use idem_tests::{Fixture, OnSqlite, on_every_database, policy};

use crate::*;

async fn a_closed_pool_runs_no_body<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    guard.pool().close().await;
    assert_away::<F>(&guard, &policy(), "k").await;
}

async fn a_pool_without_a_free_connection_runs_no_body<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(1).await;
    let impatient = Guard::<F>::builder(guard.pool().clone()).statement_timeout(Duration::from_millis(200));
    let impatient = impatient.build().await.unwrap();
    let taken = guard.pool().acquire().await.unwrap();
    assert_away::<F>(&impatient, &policy(), "k").await;
    drop(taken);
    let ran = AtomicU32::new(0);
    assert_eq!(*order::<F>(&guard, &policy(), "k", &ran).await.unwrap().value(), 1);
}

async fn a_table_that_is_gone_runs_no_body<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let mut connection = guard.pool().acquire().await.unwrap();
    F::execute(&mut connection, "ALTER TABLE idempotency_records RENAME TO elsewhere").await.unwrap();
    assert_away::<F>(&guard, &policy(), "k").await;
    F::execute(&mut connection, "ALTER TABLE elsewhere RENAME TO idempotency_records").await.unwrap();
    let ran = AtomicU32::new(0);
    assert_eq!(*order::<F>(&guard, &policy(), "k", &ran).await.unwrap().value(), 1);
}

on_every_database! {
    a_closed_pool_runs_no_body,
    a_pool_without_a_free_connection_runs_no_body,
    a_table_that_is_gone_runs_no_body,
}

#[tokio::test]
async fn a_sqlite_file_whose_folder_is_gone_runs_no_body() {
    let database = SqliteDatabase::create();
    let pool = database.pool(1).await;
    let guard = Guard::<OnSqlite>::builder(pool).migrate().build().await.unwrap();
    // The next request has to open the file.
    guard.pool().acquire().await.unwrap().close().await.unwrap();
    drop(database);
    assert_away::<OnSqlite>(&guard, &policy(), "k").await;
}

#[tokio::test]
async fn a_full_sqlite_disk_between_body_and_commit_leaves_nothing_half_done() {
    let fixture = OnSqlite::create().await;
    let guard = fixture.guard(1).await;
    let big = "x".repeat(200_000);
    let ran: Result<Outcome<String>, Error> = guard
        .run(&policy(), request::<OnSqlite>(&guard, "k"), async |mutation: &mut Mutation<sqlx::Sqlite>| {
            OnSqlite::effect(mutation, "k").await.unwrap();
            // The row fits, the answer does not.
            let pages = OnSqlite::number(mutation, "PRAGMA page_count").await.unwrap();
            OnSqlite::execute(mutation, &format!("PRAGMA max_page_count = {pages}")).await.unwrap();
            Ok(Success::new(big.clone()))
        })
        .await;
    let Err(Error::StoreUnavailable(Some(cause))) = &ran else { panic!("{ran:?}") };
    assert!(cause.to_string().contains("full"), "{cause}");
    let mut connection = guard.pool().acquire().await.unwrap();
    OnSqlite::execute(&mut connection, "PRAGMA max_page_count = 1000000").await.unwrap();
    drop(connection);
    assert_eq!(OnSqlite::effects(guard.pool(), "k").await, 0);
    let key = idem_runtime::RecordKey::new(scope(), policy().route().clone(), key("k"));
    let record = guard.read(&key).await.unwrap().unwrap().record;
    assert_eq!((record.status, record.released_at.is_some()), (Status::Failed, true));
    let again = AtomicU32::new(0);
    assert_eq!(*order::<OnSqlite>(&guard, &policy(), "k", &again).await.unwrap().value(), 2);
    assert_eq!(OnSqlite::effects(guard.pool(), "k").await, 1);
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn a_postgres_database_that_is_dropped_runs_no_body() {
    let fixture = idem_tests::OnPostgres::create().await;
    let guard = fixture.guard(2).await;
    fixture.0.drop_database().await;
    assert_away::<idem_tests::OnPostgres>(&guard, &policy(), "k").await;
}
