//! On SQLite, where a statement commits by itself, a commit that fails is not taken for done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use idem_runtime::{Claim, Error, IdempotencyMutationGuard, Record, RecordKey, Status, Success};
use idem_test_support::sqlite::SqliteDatabase;
use idem_tests::{key, policy, scope};
use sqlx::Sqlite;
use sqlx::sqlite::SqlitePoolOptions;

/// A guard whose commits fail while the switch is on, as they do on a disk that is full.
async fn guard(database: &SqliteDatabase) -> (IdempotencyMutationGuard<Sqlite>, Arc<AtomicBool>) {
    let full = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&full);
    let options = SqlitePoolOptions::new().max_connections(2).after_connect(move |connection, _| {
        let full = Arc::clone(&switch);
        Box::pin(async move {
            let mut handle = connection.lock_handle().await?;
            handle.set_commit_hook(move || !full.load(Ordering::SeqCst));
            Ok(())
        })
    });
    let pool = options.connect_with(database.options()).await.unwrap();
    (IdempotencyMutationGuard::builder(pool).migrate().build().await.unwrap(), full)
}

async fn record(guard: &IdempotencyMutationGuard<Sqlite>) -> Option<Record> {
    let key = RecordKey::new(scope(), policy().route().clone(), key("k"));
    guard.read(&key).await.unwrap().map(|reading| reading.record)
}

#[tokio::test]
async fn a_claim_that_could_not_be_committed_runs_nothing() {
    let database = SqliteDatabase::create();
    let (guard, full) = guard(&database).await;
    full.store(true, Ordering::SeqCst);
    let request = guard.request(scope(), key("k")).of("book").unwrap();
    let ran = AtomicBool::new(false);
    let asked = guard.run_external(&policy(), request, async |_: &Claim<Sqlite>| {
        ran.store(true, Ordering::SeqCst);
        Ok::<_, Error>(Success::new(1))
    });
    assert!(asked.await.is_err());
    assert!(!ran.load(Ordering::SeqCst), "the body ran under a claim that nobody else can see");
    assert_eq!(record(&guard).await, None);
}

#[tokio::test]
async fn a_completion_that_could_not_be_committed_is_written_again_before_the_answer_leaves() {
    let database = SqliteDatabase::create();
    let (guard, full) = guard(&database).await;
    let request = guard.request(scope(), key("k")).of("book").unwrap();
    let space = Arc::clone(&full);
    let asked = guard.run_external(&policy(), request, async |_: &Claim<Sqlite>| {
        full.store(true, Ordering::SeqCst);
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            space.store(false, Ordering::SeqCst);
        });
        Ok::<_, Error>(Success::new(1))
    });
    let answer = asked.await;
    let written = record(&guard).await.unwrap();
    assert_eq!(answer.is_ok(), written.status == Status::Succeeded, "{answer:?} {written:?}");
}
