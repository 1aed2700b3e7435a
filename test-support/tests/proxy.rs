//! Each fault of the proxy against a real server: what the client sees, and what the server did.

use idem_test_support::postgres::PostgresDatabase;
use idem_test_support::proxy::{Fault, Proxy};
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgConnection, PgPool};

struct Setup {
    database: PostgresDatabase,
    direct: PgPool,
    proxy: Proxy,
    /// One connection, so that a test knows which one a fault meets.
    proxied: PgPool,
}

impl Setup {
    async fn new() -> Self {
        let database = PostgresDatabase::create().await;
        let direct = database.pool(2).await;
        sqlx::query("CREATE TABLE t (id bigint PRIMARY KEY)")
            .execute(&direct)
            .await
            .expect("a fresh database takes a table");
        let proxy = Proxy::start(database.address().await);
        let options = database.options_through(proxy.addr());
        let proxied = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
        Self { database, direct, proxy, proxied }
    }

    async fn count(&self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM t")
            .fetch_one(&self.direct)
            .await
            .expect("no fault is between us and the server")
    }

    async fn insert_and_commit(&self, id: i64) -> Result<(), sqlx::Error> {
        let mut transaction = self.proxied.begin().await?;
        insert(&mut transaction, id).await?;
        transaction.commit().await
    }
}

async fn insert(connection: &mut PgConnection, id: i64) -> Result<(), sqlx::Error> {
    let statement = sqlx::query("INSERT INTO t VALUES ($1)").bind(id);
    statement.execute(connection).await.map(drop)
}

#[tokio::test]
async fn without_a_fault_everything_passes() {
    let setup = Setup::new().await;
    for id in 0..20 {
        setup.insert_and_commit(id).await.unwrap();
    }
    let long = "x".repeat(5_000_000);
    let echo = sqlx::query_scalar("SELECT $1").bind(&long);
    let back: String = echo.fetch_one(&setup.proxied).await.unwrap();
    assert!(back == long);
    assert_eq!(setup.count().await, 20);
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_commit_cut_before_the_server_has_no_effect() {
    let setup = Setup::new().await;
    setup.proxy.arm(Fault::CutBeforeCommit);
    setup.insert_and_commit(1).await.unwrap_err();
    setup.proxy.fired().await;
    assert_eq!(setup.count().await, 0);

    // Waits for the rollback of the first, as the key is the same.
    setup.insert_and_commit(1).await.unwrap();
    assert_eq!(setup.count().await, 1);
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_commit_cut_after_the_server_has_its_effect() {
    let setup = Setup::new().await;
    setup.insert_and_commit(1).await.unwrap();
    setup.proxy.arm(Fault::CutAfterCommit);
    setup.insert_and_commit(2).await.unwrap_err();
    setup.proxy.fired().await;
    assert_eq!(setup.count().await, 2);

    setup.insert_and_commit(3).await.unwrap();
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_held_commit_is_on_its_way_until_it_is_released() {
    let setup = Setup::new().await;
    setup.proxy.arm(Fault::HoldCommit);
    let (committed, ()) = tokio::join!(setup.insert_and_commit(1), async {
        setup.proxy.fired().await;
        assert_eq!(setup.count().await, 0);
        setup.proxy.release();
    });
    committed.unwrap();
    assert_eq!(setup.count().await, 1);
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_held_statement_is_on_its_way_until_it_is_released() {
    let setup = Setup::new().await;
    setup.proxy.arm(Fault::HoldStatement("INSERT INTO t".to_owned()));
    let inserting = tokio::spawn({
        let proxied = setup.proxied.clone();
        async move { sqlx::query("INSERT INTO t VALUES (1)").execute(&proxied).await }
    });
    setup.proxy.fired().await;
    assert_eq!(setup.count().await, 0);
    setup.proxy.release();
    inserting.await.unwrap().unwrap();
    assert_eq!(setup.count().await, 1);
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_slow_proxy_lets_a_statement_wait_until_it_is_fast_again() {
    use std::time::Duration;

    let setup = Setup::new().await;
    let proxied = setup.proxied.acquire().await.unwrap();
    drop(proxied);
    setup.proxy.slow_down(Duration::from_hours(1));
    let inserting = setup.insert_and_commit(1);
    assert!(tokio::time::timeout(Duration::from_millis(50), inserting).await.is_err());
    assert_eq!(setup.count().await, 0);
    setup.proxy.slow_down(Duration::ZERO);
    let other = setup.database.options_through(setup.proxy.addr());
    let other = PgPoolOptions::new().max_connections(1).connect_with(other).await.unwrap();
    insert(&mut other.acquire().await.unwrap(), 1).await.unwrap();
    assert_eq!(setup.count().await, 1);
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_held_commit_that_is_cut_has_no_effect() {
    let setup = Setup::new().await;
    setup.proxy.arm(Fault::HoldCommit);
    let (committed, ()) = tokio::join!(setup.insert_and_commit(1), async {
        setup.proxy.fired().await;
        setup.proxy.cut();
    });
    committed.unwrap_err();
    assert_eq!(setup.count().await, 0);
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_held_commit_arrives_although_its_client_is_gone() {
    let setup = Setup::new().await;
    setup.proxy.arm(Fault::HoldCommit);
    tokio::select! {
        _ = setup.insert_and_commit(1) => panic!("the commit is held"),
        () = setup.proxy.fired() => {}
    }
    setup.proxied.close().await;
    setup.proxy.release();
    // The same key waits for the open transaction, and then finds its row.
    let error = sqlx::query("INSERT INTO t VALUES (1)").execute(&setup.direct).await.unwrap_err();
    assert!(
        error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation),
        "{error}"
    );
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_reply_is_cut_at_the_first_and_at_later_executions_of_a_prepared_statement() {
    let setup = Setup::new().await;
    // A pool pings and pipelines; a bare connection shows which statement failed.
    for executed_before in 0..3 {
        let mut connection = setup.proxied.acquire().await.unwrap();
        for step in 0..executed_before {
            insert(&mut connection, executed_before * 10 + step).await.unwrap();
        }
        setup.proxy.arm(Fault::CutReplyTo("INSERT INTO t".to_owned()));
        sqlx::query("SELECT 1").execute(&mut *connection).await.unwrap();
        insert(&mut connection, executed_before * 10 + 9).await.unwrap_err();
        setup.proxy.fired().await;
    }
    assert_eq!(setup.count().await, 3 + 3, "the executions whose reply was lost count too");
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_reply_is_cut_by_a_simple_query_or_a_parameter() {
    let setup = Setup::new().await;
    setup.proxy.arm(Fault::CutReplyTo("VALUES (7)".to_owned()));
    sqlx::raw_sql("INSERT INTO t VALUES (7)").execute(&setup.proxied).await.unwrap_err();
    setup.proxy.arm(Fault::CutReplyTo("needle".to_owned()));
    let length = "SELECT length($1)";
    sqlx::query(length).bind("hay").execute(&setup.proxied).await.unwrap();
    sqlx::query(length).bind("a needle").execute(&setup.proxied).await.unwrap_err();
    setup.proxy.fired().await;
    assert_eq!(setup.count().await, 1);
    setup.database.drop_database().await;
}

#[tokio::test]
async fn the_replies_to_earlier_requests_still_arrive() {
    let setup = Setup::new().await;
    let mut connection = setup.proxied.acquire().await.unwrap();
    // Dropped without a commit: sqlx sends the rollback together with the next statement.
    let mut transaction = sqlx::Connection::begin(&mut *connection).await.unwrap();
    insert(&mut transaction, 1).await.unwrap();
    drop(transaction);
    setup.proxy.arm(Fault::CutReplyTo("INSERT INTO t".to_owned()));
    insert(&mut connection, 2).await.unwrap_err();
    setup.proxy.fired().await;
    let ids: Vec<i64> = sqlx::query_scalar("SELECT id FROM t").fetch_all(&setup.direct).await.unwrap();
    assert_eq!(ids, [2]);
    drop(connection);
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_fault_strikes_once_and_a_new_one_takes_its_place() {
    let setup = Setup::new().await;
    setup.proxy.arm(Fault::CutReplyTo("never sent".to_owned()));
    setup.proxy.arm(Fault::CutAfterCommit);
    setup.insert_and_commit(1).await.unwrap_err();
    setup.proxy.fired().await;
    setup.insert_and_commit(2).await.unwrap();
    setup.proxy.arm(Fault::CutBeforeCommit);
    setup.proxy.heal();
    setup.insert_and_commit(3).await.unwrap();
    assert_eq!(setup.count().await, 3);
    setup.database.drop_database().await;
}

#[tokio::test]
async fn a_refusing_proxy_ends_all_connections_until_it_is_healed() {
    let setup = Setup::new().await;
    let mut open = setup.proxied.acquire().await.unwrap();
    setup.proxy.arm(Fault::Refuse);
    setup.proxy.fired().await;
    insert(&mut open, 1).await.unwrap_err();
    drop(open);
    let options = setup.database.options_through(setup.proxy.addr());
    sqlx::ConnectOptions::connect(&options).await.unwrap_err();

    setup.proxy.heal();
    setup.insert_and_commit(2).await.unwrap();
    assert_eq!(setup.count().await, 1);
    setup.database.drop_database().await;
}
