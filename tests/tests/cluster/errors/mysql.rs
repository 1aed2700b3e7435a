//! Those of MariaDB.

use idem_runtime::store::Fault;
use idem_tests::{Fixture, OnMysql};
use sqlx::{MySql, MySqlConnection};

use super::is;

async fn run(connection: &mut MySqlConnection, sql: &str) {
    OnMysql::execute(connection, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

async fn fails(connection: &mut MySqlConnection, sql: &str, number: &str, fault: Fault) {
    let error = OnMysql::execute(connection, sql).await.unwrap_err();
    assert!(error.to_string().contains(number) || error.as_database_error().is_none(), "{number}: {error}");
    is::<MySql>(&error, "", fault);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_error_of_mariadb_is_what_the_table_says() {
    let fixture = OnMysql::create().await;
    let pool = fixture.pool(2).await;
    let (mut one, mut other) =
        (pool.acquire().await.unwrap().detach(), pool.acquire().await.unwrap().detach());
    run(&mut one, "CREATE TABLE numbers (id int PRIMARY KEY, n int) ENGINE = InnoDB").await;
    run(&mut one, "INSERT INTO numbers VALUES (1, 0), (2, 0)").await;
    let add = |id: u8| format!("UPDATE numbers SET n = n + 1 WHERE id = {id}");
    fails(&mut one, "INSERT INTO numbers VALUES (1, 0)", "1062", Fault::Refused).await;

    for (connection, id) in [(&mut one, 1), (&mut other, 2)] {
        run(connection, "BEGIN").await;
        run(connection, &add(id)).await;
    }
    let (add_1, add_2) = (add(1), add(2));
    let (a, b) =
        futures_util::join!(OnMysql::execute(&mut one, &add_2), OnMysql::execute(&mut other, &add_1));
    let deadlock = a.and(b).unwrap_err();
    assert!(deadlock.to_string().contains("1213"), "{deadlock}");
    is::<MySql>(&deadlock, "", Fault::Again);
    run(&mut one, "ROLLBACK").await;
    run(&mut other, "ROLLBACK").await;

    run(&mut other, "BEGIN").await;
    run(&mut other, &add(1)).await;
    run(&mut one, "SET innodb_lock_wait_timeout = 1").await;
    fails(&mut one, &add(1), "1205", Fault::Locked).await;
    fails(&mut one, "SELECT * FROM numbers WHERE id = 1 FOR UPDATE NOWAIT", "1205", Fault::Locked).await;
    run(&mut other, "ROLLBACK").await;

    run(&mut one, "START TRANSACTION READ ONLY").await;
    fails(&mut one, &add(1), "1792", Fault::Again).await;
    run(&mut one, "ROLLBACK").await;
    let slow = "SET STATEMENT max_statement_time = 0.05 FOR SELECT count(*), SLEEP(60) FROM numbers";
    fails(&mut one, slow, "1969", Fault::Unknown).await;

    let id = OnMysql::number(&mut other, "SELECT CAST(CONNECTION_ID() AS SIGNED)").await.unwrap();
    run(&mut one, &format!("KILL CONNECTION {id}")).await;
    fails(&mut other, "SELECT 1", "1927", Fault::Unknown).await;
    drop((one, other, pool));
    fixture.0.drop_database().await;
}
