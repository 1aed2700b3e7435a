//! The fixture on MySQL or MariaDB: a database of its own on the server of the test run.

use std::time::Duration;

use idem_runtime::store::Store;
use idem_test_support::mysql::MysqlDatabase;
use sqlx::{AssertSqlSafe, MySql, MySqlConnection, MySqlPool};

use crate::Fixture;

/// A fresh MySQL or MariaDB database.
#[derive(Debug)]
pub struct OnMysql(pub MysqlDatabase);

impl Fixture for OnMysql {
    type S = MySql;

    async fn create() -> Self {
        let database = MysqlDatabase::create().await;
        let pool = database.pool(1).await;
        MySql::migrate(&pool).await.expect("the migrations apply");
        let strict = AssertSqlSafe(include_str!("strict_mysql.sql"));
        sqlx::raw_sql(strict).execute(&pool).await.expect("the checks fit");
        sqlx::raw_sql("CREATE TABLE effects (name VARBINARY(255) NOT NULL) ENGINE = InnoDB")
            .execute(&pool)
            .await
            .expect("the table is new");
        pool.close().await;
        Self(database)
    }

    async fn pool(&self, connections: u32) -> MySqlPool {
        self.0.pool(connections).await
    }

    fn url(&self) -> String {
        self.0.url()
    }

    async fn effect(connection: &mut MySqlConnection, name: &str) -> sqlx::Result<()> {
        sqlx::query("INSERT INTO effects (name) VALUES (?)").bind(name).execute(connection).await?;
        Ok(())
    }

    async fn effects(pool: &MySqlPool, name: &str) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM effects WHERE name = ?")
            .bind(name)
            .fetch_one(pool)
            .await
            .expect("effects can be counted")
    }

    async fn execute(connection: &mut MySqlConnection, sql: &str) -> sqlx::Result<u64> {
        // As text: COMMIT and its like cannot be prepared.
        let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await?;
        Ok(done.rows_affected())
    }

    async fn number(connection: &mut MySqlConnection, sql: &str) -> sqlx::Result<i64> {
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await
    }

    async fn cells(pool: &MySqlPool) -> Vec<Vec<u8>> {
        let columns: Vec<(Vec<u8>, Vec<u8>)> = sqlx::query_as(
            "SELECT CAST(table_name AS BINARY), CAST(column_name AS BINARY) FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name LIKE 'idempotency%'",
        )
        .fetch_all(pool)
        .await
        .expect("the columns are listed");
        let mut cells = Vec::new();
        for (table, column) in columns {
            let (table, column) = (String::from_utf8_lossy(&table), String::from_utf8_lossy(&column));
            let sql = format!("SELECT CAST({column} AS BINARY) FROM {table} WHERE {column} IS NOT NULL");
            let column = sqlx::query_scalar::<_, Vec<u8>>(AssertSqlSafe(sql)).fetch_all(pool).await;
            cells.extend(column.expect("a column"));
        }
        cells
    }

    async fn pass(pool: &MySqlPool, span: Duration) {
        let micros = i64::try_from(span.as_micros()).expect("a span of a test");
        let columns = [
            "locked_until",
            "expires_at",
            "sweep_after",
            "created_at",
            "updated_at",
            "released_at",
            "completed_at",
        ];
        let moved = columns.map(|column| format!("{column} = {column} - {micros}")).join(", ");
        let sql = format!("UPDATE idempotency_records SET {moved}");
        sqlx::query(AssertSqlSafe(sql)).execute(pool).await.expect("time passes");
    }
}
