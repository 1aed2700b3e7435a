//! The shop's statements on PostgreSQL.

use std::str::FromStr;

use idem_runtime::{DownstreamKey, RecordKey};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool, Postgres};

use crate::database::{CONNECTIONS, Rows, ShopDatabase, TABLES};
use crate::orders::Order;

impl ShopDatabase for Postgres {
    async fn open(url: &str) -> sqlx::Result<PgPool> {
        let options = PgConnectOptions::from_str(url)?;
        // One connection first: it says at once what is wrong, where a pool would keep trying.
        PgConnection::connect_with(&options).await?.close().await?;
        PgPoolOptions::new()
            .min_connections(CONNECTIONS)
            .max_connections(CONNECTIONS)
            .connect_with(options)
            .await
    }

    async fn create_tables(pool: &PgPool) -> sqlx::Result<()> {
        sqlx::raw_sql(TABLES).execute(pool).await?;
        Ok(())
    }

    async fn insert_order(connection: &mut PgConnection, key: &RecordKey, order: &Order) -> sqlx::Result<()> {
        sqlx::query(
            "INSERT INTO orders (order_id, tenant, idempotency_key, item, quantity) \
             VALUES ($1, $2, $3, $4, $5)",
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

    async fn insert_task(connection: &mut PgConnection, key: &RecordKey, order: &Order) -> sqlx::Result<()> {
        sqlx::query("INSERT INTO tasks (task_id, tenant, idempotency_key, order_id) VALUES ($1, $2, $3, $4)")
            .bind(&order.task_id)
            .bind(key.scope().tenant())
            .bind(key.key().as_str())
            .bind(&order.id)
            .execute(connection)
            .await?;
        Ok(())
    }

    async fn orders(connection: &mut PgConnection, tenant: &str) -> sqlx::Result<Vec<Order>> {
        let rows: Vec<(String, String, i64, String)> = sqlx::query_as(
            "SELECT order_id, item, quantity, task_id FROM orders JOIN tasks USING (order_id) \
             WHERE orders.tenant = $1 ORDER BY order_id",
        )
        .bind(tenant)
        .fetch_all(connection)
        .await?;
        let order = |(id, item, quantity, task_id)| Order { id, item, quantity, task_id };
        Ok(rows.into_iter().map(order).collect())
    }

    async fn pack_tasks(pool: &PgPool) -> sqlx::Result<()> {
        sqlx::query("UPDATE tasks SET packed = true WHERE NOT packed").execute(pool).await?;
        Ok(())
    }

    async fn insert_charge(
        pool: &PgPool,
        downstream: &DownstreamKey,
        key: &RecordKey,
        charge_id: &str,
        cents: i64,
    ) -> sqlx::Result<String> {
        sqlx::query(
            "INSERT INTO charges (downstream_key, tenant, idempotency_key, charge_id, cents) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (downstream_key) DO NOTHING",
        )
        .bind(downstream.as_str())
        .bind(key.scope().tenant())
        .bind(key.key().as_str())
        .bind(charge_id)
        .bind(cents)
        .execute(pool)
        .await?;
        sqlx::query_scalar("SELECT charge_id FROM charges WHERE downstream_key = $1")
            .bind(downstream.as_str())
            .fetch_one(pool)
            .await
    }

    async fn insert_decline(pool: &PgPool, downstream: &DownstreamKey) -> sqlx::Result<bool> {
        let done = sqlx::query("INSERT INTO declines (downstream_key) VALUES ($1) ON CONFLICT DO NOTHING")
            .bind(downstream.as_str())
            .execute(pool)
            .await?;
        Ok(done.rows_affected() == 1)
    }

    async fn count_rows(pool: &PgPool, key: &RecordKey) -> sqlx::Result<Rows> {
        let (orders, tasks, charges) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM orders WHERE tenant = $1 AND idempotency_key = $2), \
                    (SELECT count(*) FROM tasks WHERE tenant = $1 AND idempotency_key = $2), \
                    (SELECT count(*) FROM charges WHERE tenant = $1 AND idempotency_key = $2)",
        )
        .bind(key.scope().tenant())
        .bind(key.key().as_str())
        .fetch_one(pool)
        .await?;
        Ok(Rows { orders, tasks, charges })
    }
}
