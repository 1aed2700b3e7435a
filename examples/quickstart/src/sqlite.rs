//! The shop's statements on SQLite.

use std::str::FromStr;
use std::time::Duration;

use idem_runtime::{DownstreamKey, RecordKey};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqliteConnection, SqlitePool};

use crate::database::{CONNECTIONS, Rows, ShopDatabase, TABLES};
use crate::orders::Order;

impl ShopDatabase for Sqlite {
    async fn open(url: &str) -> sqlx::Result<SqlitePool> {
        let options = SqliteConnectOptions::from_str(url)?
            .create_if_missing(true)
            // Readers and the writer do not block each other.
            .journal_mode(SqliteJournalMode::Wal)
            // The guard refuses less: an answer that was given must survive a crash.
            .synchronous(SqliteSynchronous::Full)
            // How long a writer waits for the writer of another process.
            .busy_timeout(Duration::from_secs(5));
        SqlitePoolOptions::new()
            .min_connections(CONNECTIONS)
            .max_connections(CONNECTIONS)
            .connect_with(options)
            .await
    }

    async fn create_tables(pool: &SqlitePool) -> sqlx::Result<()> {
        sqlx::raw_sql(TABLES).execute(pool).await?;
        Ok(())
    }

    async fn insert_order(
        connection: &mut SqliteConnection,
        key: &RecordKey,
        order: &Order,
    ) -> sqlx::Result<()> {
        sqlx::query(
            "INSERT INTO orders (order_id, tenant, idempotency_key, item, quantity) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .bind(&order.id)
        .bind(key.scope().tenant())
        .bind(key.key().as_str())
        .bind(&order.item)
        .bind(order.quantity)
        .execute(connection)
        .await?;
        Ok(())
    }

    async fn insert_task(
        connection: &mut SqliteConnection,
        key: &RecordKey,
        order: &Order,
    ) -> sqlx::Result<()> {
        sqlx::query("INSERT INTO tasks (task_id, tenant, idempotency_key, order_id) VALUES (?1, ?2, ?3, ?4)")
            .bind(&order.task_id)
            .bind(key.scope().tenant())
            .bind(key.key().as_str())
            .bind(&order.id)
            .execute(connection)
            .await?;
        Ok(())
    }

    async fn orders(connection: &mut SqliteConnection, tenant: &str) -> sqlx::Result<Vec<Order>> {
        let rows: Vec<(String, String, i64, String)> = sqlx::query_as(
            "SELECT order_id, item, quantity, task_id FROM orders JOIN tasks USING (order_id) \
             WHERE orders.tenant = ?1 ORDER BY order_id",
        )
        .bind(tenant)
        .fetch_all(connection)
        .await?;
        let order = |(id, item, quantity, task_id)| Order { id, item, quantity, task_id };
        Ok(rows.into_iter().map(order).collect())
    }

    async fn pack_tasks(pool: &SqlitePool) -> sqlx::Result<()> {
        sqlx::query("UPDATE tasks SET packed = true WHERE NOT packed").execute(pool).await?;
        Ok(())
    }

    async fn insert_charge(
        pool: &SqlitePool,
        downstream: &DownstreamKey,
        key: &RecordKey,
        charge_id: &str,
        cents: i64,
    ) -> sqlx::Result<String> {
        sqlx::query(
            "INSERT INTO charges (downstream_key, tenant, idempotency_key, charge_id, cents) \
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (downstream_key) DO NOTHING",
        )
        .bind(downstream.as_str())
        .bind(key.scope().tenant())
        .bind(key.key().as_str())
        .bind(charge_id)
        .bind(cents)
        .execute(pool)
        .await?;
        sqlx::query_scalar("SELECT charge_id FROM charges WHERE downstream_key = ?1")
            .bind(downstream.as_str())
            .fetch_one(pool)
            .await
    }

    async fn insert_decline(pool: &SqlitePool, downstream: &DownstreamKey) -> sqlx::Result<bool> {
        let done = sqlx::query("INSERT INTO declines (downstream_key) VALUES (?1) ON CONFLICT DO NOTHING")
            .bind(downstream.as_str())
            .execute(pool)
            .await?;
        Ok(done.rows_affected() == 1)
    }

    async fn count_rows(pool: &SqlitePool, key: &RecordKey) -> sqlx::Result<Rows> {
        let (orders, tasks, charges) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM orders WHERE tenant = ?1 AND idempotency_key = ?2), \
                    (SELECT count(*) FROM tasks WHERE tenant = ?1 AND idempotency_key = ?2), \
                    (SELECT count(*) FROM charges WHERE tenant = ?1 AND idempotency_key = ?2)",
        )
        .bind(key.scope().tenant())
        .bind(key.key().as_str())
        .fetch_one(pool)
        .await?;
        Ok(Rows { orders, tasks, charges })
    }
}
