//! The questions of an operator on PostgreSQL.

use sqlx::{Connection, PgConnection, Postgres, Row};

use super::sql::inspect as sql;
use super::{MIGRATIONS, fenced, millis, reading};
use crate::key::RecordKey;
use crate::record::{Reading, Record, Timestamp};
use crate::store::inspect::select::select;
use crate::store::{Capacity, Due, Filter, Group, Inspect, Release, Store, StoreResult, Traffic, counted};

impl Inspect for Postgres {
    fn migrations() -> &'static [(i64, &'static str, &'static str)] {
        MIGRATIONS
    }

    async fn applied(conn: &mut PgConnection) -> StoreResult<Option<Vec<i64>>> {
        match sqlx::query_scalar(sql::APPLIED).fetch_all(conn).await {
            Ok(versions) => Ok(Some(versions)),
            Err(error) if super::fault::code(&error).as_deref() == Some("42P01") => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn missing(conn: &mut PgConnection) -> StoreResult<Vec<String>> {
        sqlx::query_scalar(sql::MISSING).fetch_all(conn).await
    }

    async fn now(conn: &mut PgConnection) -> StoreResult<Timestamp> {
        sqlx::query(sql::NOW).fetch_one(conn).await?.try_get("now")
    }

    async fn capacity(conn: &mut PgConnection) -> StoreResult<Option<Capacity>> {
        let row = sqlx::query(sql::CAPACITY).fetch_one(conn).await?;
        Ok(Some(Capacity { limit: row.try_get("most")?, open: row.try_get("open")? }))
    }

    async fn list(
        conn: &mut PgConnection,
        filter: &Filter,
        after: Option<&RecordKey>,
        limit: u32,
    ) -> StoreResult<Vec<Reading>> {
        let mut query = select::<Postgres, String>(sql::DIALECT, filter, after, limit);
        query.build().fetch_all(conn).await?.iter().map(reading::<Postgres>).collect()
    }

    async fn stats(conn: &mut PgConnection) -> StoreResult<Vec<Group>> {
        let rows = sqlx::query(sql::STATS).fetch_all(conn).await?;
        let group = |row: &<Postgres as sqlx::Database>::Row| {
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

    async fn traffic(conn: &mut PgConnection, days: u32) -> StoreResult<Vec<Traffic>> {
        let rows = sqlx::query(sql::TRAFFIC).bind(i64::from(days)).fetch_all(conn).await?;
        let traffic = |row: &<Postgres as sqlx::Database>::Row| {
            Ok(Traffic {
                route: row.try_get("route")?,
                executed: counted(row.try_get("executed")?),
                replayed: counted(row.try_get("replayed")?),
            })
        };
        rows.iter().map(traffic).collect()
    }

    async fn due(conn: &mut PgConnection, due: Due) -> StoreResult<u64> {
        let query = match due {
            Due::Expire => sqlx::query_scalar(sql::DUE_TO_EXPIRE),
            Due::Purge(older_than) => sqlx::query_scalar(sql::DUE_TO_PURGE).bind(millis(older_than)),
        };
        let count: i64 = query.fetch_one(conn).await?;
        Ok(counted(count))
    }

    async fn release_noted(conn: &mut PgConnection, seen: &Record, note: &Release) -> StoreResult<bool> {
        let mut transaction = conn.begin().await?;
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
