//! The statements of the orders on PostgreSQL.

use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool, Postgres};
use uuid::Uuid;

use crate::database::{CONNECTIONS, Movement, OrdersDatabase, TABLES};
use crate::orders::Order;

impl OrdersDatabase for Postgres {
    async fn open(url: &str) -> sqlx::Result<PgPool> {
        let options = PgConnectOptions::from_str(url)?;
        // One connection first: it says at once what is wrong, where a pool would keep trying.
        PgConnection::connect_with(&options).await?.close().await?;
        PgPoolOptions::new().max_connections(CONNECTIONS).connect_with(options).await
    }

    async fn create_tables(pool: &PgPool) -> sqlx::Result<()> {
        sqlx::raw_sql(TABLES).execute(pool).await?;
        Ok(())
    }

    async fn insert_order(connection: &mut PgConnection, tenant: &str, order: &Order) -> sqlx::Result<()> {
        sqlx::query("INSERT INTO outbox_orders (order_id, tenant, item, quantity) VALUES ($1, $2, $3, $4)")
            .bind(&order.id)
            .bind(tenant)
            .bind(&order.item)
            .bind(order.quantity)
            .execute(connection)
            .await?;
        Ok(())
    }

    async fn move_stock(connection: &mut PgConnection, movement: &Movement) -> sqlx::Result<()> {
        sqlx::query(
            "INSERT INTO stock_ledger (event_id, order_id, tenant, movement, position) \
             SELECT $1, $2, $3, $4, count(*) + 1 FROM stock_ledger WHERE order_id = $2",
        )
        .bind(movement.event.to_string())
        .bind(&movement.order)
        .bind(&movement.tenant)
        .bind(&movement.name)
        .execute(connection)
        .await?;
        Ok(())
    }

    async fn movements(pool: &PgPool, tenant: &str) -> sqlx::Result<Vec<(Movement, i64)>> {
        let rows: Vec<(String, String, String, i64)> = sqlx::query_as(
            "SELECT event_id, order_id, movement, position FROM stock_ledger WHERE tenant = $1",
        )
        .bind(tenant)
        .fetch_all(pool)
        .await?;
        let movement = |(event, order, name, position): (String, String, String, i64)| {
            let event = Uuid::parse_str(&event).map_err(|error| sqlx::Error::Decode(error.into()))?;
            Ok((Movement { event, tenant: tenant.to_owned(), order, name }, position))
        };
        rows.into_iter().map(movement).collect()
    }

    async fn orders(pool: &PgPool, tenant: &str) -> sqlx::Result<Vec<String>> {
        sqlx::query_scalar("SELECT order_id FROM outbox_orders WHERE tenant = $1")
            .bind(tenant)
            .fetch_all(pool)
            .await
    }
}
