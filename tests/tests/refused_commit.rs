//! On SQLite, a commit that fails is not taken for done, and a full disk in a body not for an unknown outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use idem_runtime::{Claim, Error, IdempotencyMutationGuard, Mutation, Record, RecordKey, Status, Success};
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

#[tokio::test]
async fn a_body_that_finds_the_disk_full_fails_and_its_outcome_is_known() {
    let database = SqliteDatabase::create();
    let guard = IdempotencyMutationGuard::builder(database.pool(1).await).migrate().build().await.unwrap();
    sqlx::query("CREATE TABLE effects (name BLOB)").execute(guard.pool()).await.unwrap();
    let request = || guard.request(scope(), key("k")).of("book").unwrap();
    let grow = "INSERT INTO effects (name) VALUES (zeroblob(1000000))";

    let full = guard.operation(&policy(), request()).release_on(|_: &Full| true);
    let asked = full.run(async |mutation: &mut Mutation<Sqlite>| {
        sqlx::query("PRAGMA max_page_count = 1").execute(&mut **mutation).await.unwrap();
        sqlx::query(grow).execute(&mut **mutation).await.map_err(|_| Full)?;
        Ok(Success::new(1))
    });
    assert!(asked.await.is_err());
    assert!(!record(&guard).await.unwrap().outcome_unknown);

    sqlx::query("PRAGMA max_page_count = 1000000").execute(guard.pool()).await.unwrap();
    let asked = guard.run(&policy(), request(), async |mutation: &mut Mutation<Sqlite>| {
        sqlx::query(grow).execute(&mut **mutation).await.unwrap();
        Ok::<_, Error>(Success::new(1))
    });
    assert!(!asked.await.unwrap().is_replay());
    let effects: i64 =
        sqlx::query_scalar("SELECT count(*) FROM effects").fetch_one(guard.pool()).await.unwrap();
    assert_eq!(effects, 1);
}

/// The disk is full, or the guard refused.
struct Full;

impl From<Error> for Full {
    fn from(_: Error) -> Self {
        Self
    }
}
