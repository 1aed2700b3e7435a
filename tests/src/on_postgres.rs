//! The fixture on PostgreSQL: a database of its own on the server of the test run.

use std::time::Duration;

use idem_runtime::store::Store;
use idem_test_support::postgres::PostgresDatabase;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres};

use crate::Fixture;

/// A fresh PostgreSQL database.
#[derive(Debug)]
pub struct OnPostgres(pub PostgresDatabase);

impl OnPostgres {
    /// Makes the tables of a fixture in a fresh database.
    ///
    /// # Panics
    ///
    /// When the server refuses.
    pub async fn with_tables(database: PostgresDatabase) -> Self {
        let pool = database.pool(1).await;
        Postgres::migrate(&pool).await.expect("the migrations apply");
        let strict = AssertSqlSafe(include_str!("strict_postgres.sql"));
        sqlx::raw_sql(strict).execute(&pool).await.expect("the checks fit");
        sqlx::query("CREATE TABLE effects (name text NOT NULL)")
            .execute(&pool)
            .await
            .expect("the table is new");
        pool.close().await;
        Self(database)
    }
}

impl Fixture for OnPostgres {
    type S = Postgres;

    async fn create() -> Self {
        Self::with_tables(PostgresDatabase::create().await).await
    }

    async fn pool(&self, connections: u32) -> PgPool {
        self.0.pool(connections).await
    }

    fn url(&self) -> String {
        self.0.url()
    }

    async fn effect(connection: &mut PgConnection, name: &str) -> sqlx::Result<()> {
        sqlx::query("INSERT INTO effects (name) VALUES ($1)").bind(name).execute(connection).await?;
        Ok(())
    }

    async fn effects(pool: &PgPool, name: &str) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM effects WHERE name = $1")
            .bind(name)
            .fetch_one(pool)
            .await
            .expect("effects can be counted")
    }

    async fn execute(connection: &mut PgConnection, sql: &str) -> sqlx::Result<u64> {
        let done = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(connection).await?;
        Ok(done.rows_affected())
    }

    async fn number(connection: &mut PgConnection, sql: &str) -> sqlx::Result<i64> {
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(connection).await
    }

    async fn cells(pool: &PgPool) -> Vec<Vec<u8>> {
        let columns: Vec<(String, String, bool)> = sqlx::query_as(
            "SELECT table_name::text, column_name::text, data_type = 'bytea' FROM information_schema.columns \
             WHERE table_schema = current_schema() AND table_name LIKE 'idempotency%'",
        )
        .fetch_all(pool)
        .await
        .expect("the columns are listed");
        let mut cells = Vec::new();
        for (table, column, is_bytes) in columns {
            let bytes = if is_bytes { column.clone() } else { format!("convert_to({column}::text, 'UTF8')") };
            let sql = AssertSqlSafe(format!("SELECT {bytes} FROM {table} WHERE {column} IS NOT NULL"));
            cells.extend(sqlx::query_scalar::<_, Vec<u8>>(sql).fetch_all(pool).await.expect("a column"));
        }
        cells
    }

    async fn pass(pool: &PgPool, span: Duration) {
        sqlx::query(
            "UPDATE idempotency_records SET locked_until = locked_until - s.span, \
             expires_at = expires_at - s.span, sweep_after = sweep_after - s.span, \
             created_at = created_at - s.span, \
             updated_at = updated_at - s.span, released_at = released_at - s.span, \
             completed_at = completed_at - s.span \
             FROM (SELECT interval '1 microsecond' * $1 AS span) AS s",
        )
        .bind(i64::try_from(span.as_micros()).expect("a span of a test"))
        .execute(pool)
        .await
        .expect("time passes");
    }
}
