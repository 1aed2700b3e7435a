//! The questions of an operator on SQLite.

use sqlx::{Connection, Row, Sqlite, SqliteConnection};

use super::sql::inspect as sql;
use super::{MIGRATIONS, fenced, millis, reading};
use crate::key::RecordKey;
use crate::record::{Reading, Record, Timestamp};
use crate::store::inspect::select::select;
use crate::store::{Capacity, Due, Filter, Group, Inspect, Release, Store, StoreResult, Traffic, counted};

impl Inspect for Sqlite {
    fn migrations() -> &'static [(i64, &'static str, &'static str)] {
        MIGRATIONS
    }

    async fn applied(conn: &mut SqliteConnection) -> StoreResult<Option<Vec<i64>>> {
        match sqlx::query_scalar(sql::APPLIED).fetch_all(conn).await {
            Ok(versions) => Ok(Some(versions)),
            Err(sqlx::Error::Database(error)) if error.message().starts_with("no such") => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn missing(conn: &mut SqliteConnection) -> StoreResult<Vec<String>> {
        sqlx::query_scalar(sql::MISSING).fetch_all(conn).await
    }

    async fn now(conn: &mut SqliteConnection) -> StoreResult<Timestamp> {
        sqlx::query(sql::NOW).fetch_one(conn).await?.try_get("now")
    }

    async fn capacity(_: &mut SqliteConnection) -> StoreResult<Option<Capacity>> {
        Ok(None)
    }

    async fn list(
        conn: &mut SqliteConnection,
        filter: &Filter,
        after: Option<&RecordKey>,
        limit: u32,
    ) -> StoreResult<Vec<Reading>> {
        let mut query = select::<Sqlite, String>(sql::DIALECT, filter, after, limit);
        query.build().fetch_all(conn).await?.iter().map(reading::<Sqlite>).collect()
    }

    async fn stats(conn: &mut SqliteConnection) -> StoreResult<Vec<Group>> {
        let rows = sqlx::query(sql::STATS).fetch_all(conn).await?;
        let group = |row: &<Sqlite as sqlx::Database>::Row| {
            Ok(Group {
                route: row.try_get("route")?,
                status: row.try_get("status")?,
                records: row.try_get("records")?,
                stuck: row.try_get("stuck")?,
                oldest: row.try_get("oldest")?,
                newest: row.try_get("newest")?,
                first_lease_end: row.try_get("first_lease_end")?,
                now: row.try_get("now")?,
            })
        };
        rows.iter().map(group).collect()
    }

    async fn traffic(conn: &mut SqliteConnection, days: u32) -> StoreResult<Vec<Traffic>> {
        let rows = sqlx::query(sql::TRAFFIC).bind(days).fetch_all(conn).await?;
        let traffic = |row: &<Sqlite as sqlx::Database>::Row| {
            Ok(Traffic {
                route: row.try_get("route")?,
                executed: counted(row.try_get("executed")?),
                replayed: counted(row.try_get("replayed")?),
            })
        };
        rows.iter().map(traffic).collect()
    }

    async fn due(conn: &mut SqliteConnection, due: Due) -> StoreResult<u64> {
        let query = match due {
            Due::Expire => sqlx::query_scalar(sql::DUE_TO_EXPIRE),
            Due::Purge(older_than) => sqlx::query_scalar(sql::DUE_TO_PURGE).bind(millis(older_than)),
        };
        let count: i64 = query.fetch_one(conn).await?;
        Ok(counted(count))
    }

    async fn release_noted(conn: &mut SqliteConnection, seen: &Record, note: &Release) -> StoreResult<bool> {
        let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await?;
        if !Self::release(&mut transaction, &seen.key, seen.token, Some(seen.revision)).await? {
            transaction.rollback().await?;
            return Ok(false);
        }
        fenced(sql::NOTE, &seen.key, seen.token)
            .bind(seen.status.as_str())
            .bind(seen.outcome_unknown)
            .bind(note.forced)
            .bind(note.by.clone())
            .bind(note.reason.clone())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(true)
    }
}
