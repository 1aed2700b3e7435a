//! The lease of the maintenance and its sweep on MySQL.

use std::time::Duration;

use sqlx::{MySql, MySqlConnection};
use uuid::Uuid;

use super::millis;
use super::sql::maintain as sql;
use crate::store::{Maintain, StoreResult, Swept, Traffic, whole};

impl Maintain for MySql {
    async fn hold(conn: &mut MySqlConnection, holder: Uuid, lease: Duration) -> StoreResult<bool> {
        let lease = millis(lease);
        sqlx::query(sql::HOLD).bind(holder).bind(lease).bind(lease).execute(&mut *conn).await?;
        // Counts of rows depend on the flags of the connection; the row itself does not.
        let held: Option<Uuid> = sqlx::query_scalar(sql::HOLDER).fetch_optional(conn).await?;
        Ok(held == Some(holder))
    }

    async fn expire_since(conn: &mut MySqlConnection, since: Duration, batch: u32) -> StoreResult<Swept> {
        let statement = sqlx::query(sql::EXPIRE_SINCE).bind(millis(since)).bind(batch);
        Ok(Swept { count: statement.execute(conn).await?.rows_affected() })
    }

    async fn add_traffic(conn: &mut MySqlConnection, traffic: &Traffic) -> StoreResult<()> {
        let statement = sqlx::query(sql::ADD_TRAFFIC).bind(traffic.route.clone().into_bytes());
        statement.bind(whole(traffic.executed)).bind(whole(traffic.replayed)).execute(conn).await.map(|_| ())
    }

    async fn forget_traffic(conn: &mut MySqlConnection, days: u32) -> StoreResult<()> {
        sqlx::query(sql::FORGET_TRAFFIC).bind(days).execute(conn).await.map(|_| ())
    }
}
