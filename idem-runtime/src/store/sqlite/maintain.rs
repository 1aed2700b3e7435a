//! The lease of the maintenance and its sweep on SQLite.

use std::time::Duration;

use sqlx::{Sqlite, SqliteConnection};
use uuid::Uuid;

use super::millis;
use super::sql::maintain as sql;
use crate::store::{Maintain, StoreResult, Swept, Traffic, whole};

impl Maintain for Sqlite {
    async fn hold(conn: &mut SqliteConnection, holder: Uuid, lease: Duration) -> StoreResult<bool> {
        let held = sqlx::query(sql::HOLD).bind(holder).bind(millis(lease)).execute(conn).await?;
        Ok(held.rows_affected() == 1)
    }

    async fn expire_since(conn: &mut SqliteConnection, since: Duration, batch: u32) -> StoreResult<Swept> {
        let statement = sqlx::query(sql::EXPIRE_SINCE).bind(i64::from(batch)).bind(millis(since));
        Ok(Swept { count: statement.execute(conn).await?.rows_affected() })
    }

    async fn add_traffic(conn: &mut SqliteConnection, traffic: &Traffic) -> StoreResult<()> {
        let statement = sqlx::query(sql::ADD_TRAFFIC).bind(traffic.route.clone());
        statement.bind(whole(traffic.executed)).bind(whole(traffic.replayed)).execute(conn).await.map(|_| ())
    }

    async fn forget_traffic(conn: &mut SqliteConnection, days: u32) -> StoreResult<()> {
        sqlx::query(sql::FORGET_TRAFFIC).bind(days).execute(conn).await.map(|_| ())
    }
}
