//! The process dies while the server is at work on its claim or its COMMIT, which PostgreSQL then carries out.

use idem_runtime::Error;
use idem_tests::{Fixture, OnPostgres, policy};
use sqlx::PgConnection;
use sqlx::Postgres;
use sqlx::pool::PoolConnection;

use crate::*;

/// A database where statements wait for an advisory lock.
struct Held {
    fixture: OnPostgres,
    guard: Guard<OnPostgres>,
    holder: PoolConnection<Postgres>,
    observer: PoolConnection<Postgres>,
}

impl Held {
    /// Each INSERT into `table` waits, at once or with `DEFERRABLE INITIALLY DEFERRED` at its COMMIT.
    async fn inserts_into(table: &str, when: &str) -> Self {
        let fixture = OnPostgres::create().await;
        let guard = fixture.guard(2).await;
        let mut holder = fixture.pool(1).await.acquire().await.unwrap();
        let observer = fixture.pool(1).await.acquire().await.unwrap();
        let trigger = format!(
            "CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON {table} {when} FOR EACH ROW EXECUTE FUNCTION hold()"
        );
        for sql in [
            "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$",
            &trigger,
            "SELECT pg_advisory_lock(1)",
        ] {
            OnPostgres::execute(&mut holder, sql).await.unwrap();
        }
        Self { fixture, guard, holder, observer }
    }

    async fn let_go(&mut self) {
        OnPostgres::execute(&mut self.holder, "SELECT pg_advisory_unlock(1)").await.unwrap();
    }

    async fn effects(&self) -> (i64, i64) {
        let pool = self.guard.pool();
        (OnPostgres::effects(pool, "victim").await, OnPostgres::effects(pool, "retry").await)
    }
}

/// How many statements of this database wait for a lock of that kind.
async fn waiting(observer: &mut PgConnection, kind: &str) -> i64 {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND wait_event_type = 'Lock' AND wait_event = '{kind}'"
    );
    OnPostgres::number(observer, &sql).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_its_commit_is_under_way_the_retry_waits_for_it_and_gets_the_answer() {
    let mut at = Held::inserts_into("effects", "DEFERRABLE INITIALLY DEFERRED").await;
    let mut victim = victim(&at.fixture, &["--stop", "never", "--lease-ms", "1000"]);
    until("the victim commits", async || waiting(&mut at.observer, "advisory").await == 1).await;
    victim.kill().await;
    is_abandoned::<OnPostgres>(&at.guard, &policy()).await;

    // The commit has locked the row, so that no test can end its lease: it lapses by itself.
    let guard = at.guard.clone();
    let asked = tokio::spawn(async move {
        loop {
            let answer = retry::<OnPostgres>(&guard, &policy()).await;
            if !matches!(answer, Err(Error::InProgress { .. })) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    until("the retry waits for the row", async || waiting(&mut at.observer, "transactionid").await > 0).await;
    at.let_go().await;
    is_answer(&asked.await.unwrap(), true, 1, OF_THE_VICTIM);
    assert_eq!(at.effects().await, (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_its_claim_is_under_way_the_claim_stands_until_its_lease_ends() {
    let mut at = Held::inserts_into("idempotency_records", "").await;
    let mut victim = victim(&at.fixture, &["--stop", "never"]);
    until("the victim claims", async || waiting(&mut at.observer, "advisory").await == 1).await;
    victim.kill().await;
    assert_eq!(record::<OnPostgres>(&at.guard, &policy()).await, None);

    at.let_go().await;
    until("the claim", async || record::<OnPostgres>(&at.guard, &policy()).await.is_some()).await;
    is_abandoned::<OnPostgres>(&at.guard, &policy()).await;
    let early = retry::<OnPostgres>(&at.guard, &policy()).await;
    assert!(matches!(early, Err(Error::InProgress { .. })), "{early:?}");
    OnPostgres::pass(at.guard.pool(), LEASE).await;
    is_answer(&retry::<OnPostgres>(&at.guard, &policy()).await, false, 2, OF_THE_RETRY);
    assert_eq!(at.effects().await, (0, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_before_its_claim_commits_nothing_is_left_and_the_retry_is_the_first_run() {
    let mut at = Held::inserts_into("idempotency_records", "").await;
    let mut victim = victim(&at.fixture, &["--stop", "never"]);
    until("the victim claims", async || waiting(&mut at.observer, "advisory").await == 1).await;
    victim.kill().await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND wait_event = 'advisory'";
    OnPostgres::execute(&mut at.observer, end).await.unwrap();
    until("the claim has ended", async || waiting(&mut at.observer, "advisory").await == 0).await;

    at.let_go().await;
    assert_eq!(record::<OnPostgres>(&at.guard, &policy()).await, None);
    is_answer(&retry::<OnPostgres>(&at.guard, &policy()).await, false, 1, OF_THE_RETRY);
    assert_eq!(at.effects().await, (0, 1));
}
