//! The fixture on SQLite: a file of its own.

use std::time::Duration;

use idem_runtime::store::Store;
use idem_test_support::sqlite::SqliteDatabase;
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection, SqlitePool};

use crate::Fixture;

/// A fresh SQLite file.
#[derive(Debug)]
pub struct OnSqlite(SqliteDatabase);

impl Fixture for OnSqlite {
    type S = Sqlite;

    async fn create() -> Self {
        let database = SqliteDatabase::create();
        let pool = database.pool(1).await;
        Sqlite::migrate(&pool).await.expect("the migrations apply");
        sqlx::query("CREATE TABLE effects (name TEXT NOT NULL)")
            .execute(&pool)
            .await
            .expect("the table is new");
        pool.close().await;
        Self(database)
    }

    async fn pool(&self, connections: u32) -> SqlitePool {
        self.0.pool(connections).await
    }

    fn url(&self) -> String {
        self.0.url()
    }

    async fn effect(connection: &mut SqliteConnection, name: &str) -> sqlx::Result<()> {
        sqlx::query("INSERT INTO effects (name) VALUES (?1)").bind(name).execute(connection).await?;
        Ok(())
    }

    async fn effects(pool: &SqlitePool, name: &str) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM effects WHERE name = ?1")
            .bind(name)
            .fetch_one(pool)
            .await
            .expect("effects can be counted")
    }

    async fn execute(connection: &mut SqliteConnection, sql: &str) -> sqlx::Result<u64> {
        let done = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(connection).await?;
        Ok(done.rows_affected())
    }

    async fn number(connection: &mut SqliteConnection, sql: &str) -> sqlx::Result<i64> {
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await
    }

    async fn cells(pool: &SqlitePool) -> Vec<Vec<u8>> {
        let columns: Vec<(String, String)> = sqlx::query_as(
            "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c \
             WHERE t.type = 'table' AND t.name LIKE 'idempotency%'",
        )
        .fetch_all(pool)
        .await
        .expect("the columns are listed");
        let mut cells = Vec::new();
        for (table, column) in columns {
            let sql = format!("SELECT CAST({column} AS BLOB) FROM {table} WHERE {column} IS NOT NULL");
            let column = sqlx::query_scalar::<_, Vec<u8>>(AssertSqlSafe(sql)).fetch_all(pool).await;
            cells.extend(column.expect("a column"));
        }
        let file: String = sqlx::query_scalar("SELECT file FROM pragma_database_list WHERE name = 'main'")
            .fetch_one(pool)
            .await
            .expect("it is a file");
        cells.push(std::fs::read(format!("{file}-wal")).expect("the log is there"));
        cells.push(std::fs::read(file).expect("the file is there"));
        cells
    }

    async fn pass(pool: &SqlitePool, span: Duration) {
        sqlx::query(
            "UPDATE idempotency_records SET locked_until = locked_until - ?1, expires_at = expires_at - ?1, \
             sweep_after = sweep_after - ?1, \
             created_at = created_at - ?1, updated_at = updated_at - ?1, \
             released_at = released_at - ?1, completed_at = completed_at - ?1",
        )
        .bind(i64::try_from(span.as_micros()).expect("a span of a test"))
        .execute(pool)
        .await
        .expect("time passes");
    }
}
