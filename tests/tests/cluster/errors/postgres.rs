//! Those of PostgreSQL.

use std::str::FromStr;

use idem_runtime::store::Fault;
use idem_tests::{Fixture, OnPostgres};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres};

use super::is;

async fn run(connection: &mut PgConnection, sql: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await;
    done.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

async fn fails(connection: &mut PgConnection, sql: &str, code: &str, fault: Fault) {
    is::<Postgres>(&OnPostgres::execute(connection, sql).await.unwrap_err(), code, fault);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_error_of_postgres_is_what_the_table_says() {
    let fixture = OnPostgres::create().await;
    let pool = fixture.pool(2).await;
    let (mut one, mut other) =
        (pool.acquire().await.unwrap().detach(), pool.acquire().await.unwrap().detach());
    run(&mut one, "CREATE TABLE rows (id int PRIMARY KEY, n int); INSERT INTO rows VALUES (1, 0), (2, 0)")
        .await;
    let add = |id: u8| format!("UPDATE rows SET n = n + 1 WHERE id = {id}");

    run(&mut one, "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT * FROM rows").await;
    run(&mut other, &add(1)).await;
    fails(&mut one, &add(1), "40001", Fault::Again).await;
    fails(&mut one, "SELECT 1", "25P02", Fault::Aborted).await;
    run(&mut one, "ROLLBACK").await;

    run(&mut one, &format!("BEGIN; {}", add(1))).await;
    run(&mut other, &format!("BEGIN; {}", add(2))).await;
    let (add_1, add_2) = (add(1), add(2));
    let (a, b) =
        futures_util::join!(OnPostgres::execute(&mut one, &add_2), OnPostgres::execute(&mut other, &add_1));
    is::<Postgres>(&a.and(b).unwrap_err(), "40P01", Fault::Again);
    run(&mut one, "ROLLBACK").await;
    run(&mut other, "ROLLBACK").await;

    run(&mut other, &format!("BEGIN; {}", add(1))).await;
    fails(&mut one, "SELECT * FROM rows WHERE id = 1 FOR UPDATE NOWAIT", "55P03", Fault::Locked).await;
    run(&mut other, "ROLLBACK").await;

    run(&mut one, "BEGIN READ ONLY").await;
    fails(&mut one, &add(1), "25006", Fault::Again).await;
    run(&mut one, "ROLLBACK; SET statement_timeout = 20").await;
    fails(&mut one, "SELECT pg_sleep(60)", "57014", Fault::Unknown).await;
    run(&mut one, "SET statement_timeout = 0").await;

    let limited = PgConnectOptions::from_str(&fixture.0.role_with(&[]).await).unwrap();
    run(&mut one, &format!("ALTER ROLE {} CONNECTION LIMIT 0", limited.get_username())).await;
    let refused = PgConnection::connect_with(&limited).await.unwrap_err();
    is::<Postgres>(&refused, "53300", Fault::Again);

    run(&mut other, "SET idle_in_transaction_session_timeout = 20; BEGIN").await;
    let gone =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'";
    while OnPostgres::number(&mut one, gone).await.unwrap() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    fails(&mut other, "SELECT 1", "25P03", Fault::Unknown).await;

    let mut other = pool.acquire().await.unwrap().detach();
    let pid = OnPostgres::number(&mut other, "SELECT pg_backend_pid()::bigint").await.unwrap();
    run(&mut one, &format!("SELECT pg_terminate_backend({pid}, 10000)")).await;
    fails(&mut other, "SELECT 1", "57P01", Fault::Unknown).await;
    drop((one, other, pool));
    fixture.0.drop_database().await;
}
