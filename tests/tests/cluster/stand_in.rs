//! A stand-in for CockroachDB and YugabyteDB, which cannot be run here: PostgreSQL at SERIALIZABLE, where every
//! loser of a race gets 40001, without advisory locks, and with commits whose reply is lost.

use std::str::FromStr;
use std::time::Duration;

use idem_runtime::postgres::Guard;
use idem_test_support::postgres::PostgresDatabase;
use idem_test_support::proxy::{Fault, Proxy};
use idem_tests::OnPostgres;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};

use crate::load::Load;
use crate::rounds;

const NO_LOCKS: &str = "DO $$ DECLARE lock regprocedure; BEGIN
     FOR lock IN SELECT oid::regprocedure FROM pg_proc WHERE proname LIKE 'pg_%advisory%' LOOP
         EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', lock);
     END LOOP; END $$";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_serializable_and_has_no_advisory_locks_keeps_the_promises() {
    let database = PostgresDatabase::create().await;
    let role = database.role_with(&[("default_transaction_isolation", "serializable")]).await;
    let admin = database.pool(1).await;
    sqlx::raw_sql(NO_LOCKS).execute(&admin).await.unwrap();
    let proxy = Proxy::start(database.address().await);
    let options = PgConnectOptions::from_str(&role).unwrap();
    let options = options.host("127.0.0.1").port(proxy.addr().port()).ssl_mode(PgSslMode::Disable);
    let pool = || {
        let pool = PgPoolOptions::new().max_connections(8).acquire_timeout(Duration::from_secs(2));
        pool.connect_lazy_with(options.clone())
    };
    let denied = sqlx::query("SELECT pg_advisory_lock(1)").execute(&pool()).await.unwrap_err();
    assert!(denied.to_string().contains("denied"), "{denied}");

    // All at once: nothing but the unique key of a migration keeps them apart.
    let guards =
        futures_util::future::join_all((0..3).map(|_| Guard::builder(pool()).migrate().build())).await;
    let guards = guards.into_iter().map(|guard| guard.unwrap()).collect();
    sqlx::raw_sql("CREATE TABLE effects (name text NOT NULL)").execute(&pool()).await.unwrap();
    let load = Load::<OnPostgres>::on(guards);
    load.during("cut", async || {
        for _ in 0..10 * rounds() {
            for fault in [Fault::CutAfterCommit, Fault::CutBeforeCommit] {
                proxy.arm(fault);
                proxy.fired().await;
            }
        }
    })
    .await;
    load.check().await;
    drop(load);
    admin.close().await;
    database.drop_database().await;
}
