//! The questions of an operator on MySQL and MariaDB.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{Connection, MySql, Row};

use super::sql::inspect as sql;
use super::{MIGRATIONS, by_token, fault, millis, reading};
use crate::key::RecordKey;
use crate::record::{Reading, Record, Timestamp};
use crate::store::inspect::select::select;
use crate::store::{Capacity, Due, Filter, Group, Inspect, Release, Store, StoreResult, Traffic, counted};

impl Inspect for MySql {
    fn migrations() -> &'static [(i64, &'static str, &'static str)] {
        MIGRATIONS
    }

    async fn applied(conn: &mut MySqlConnection) -> StoreResult<Option<Vec<i64>>> {
        match sqlx::query_scalar(sql::APPLIED).fetch_all(conn).await {
            Ok(versions) => Ok(Some(versions)),
            Err(error) if fault::number(&error) == Some(fault::NO_TABLE) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn missing(conn: &mut MySqlConnection) -> StoreResult<Vec<String>> {
        let present: Vec<String> = sqlx::query_scalar(sql::PRESENT).fetch_all(conn).await?;
        let missing = sql::WANTED.iter().filter(|(found_as, _)| !present.iter().any(|name| name == found_as));
        Ok(missing.map(|&(_, name)| name.to_owned()).collect())
    }

    async fn now(conn: &mut MySqlConnection) -> StoreResult<Timestamp> {
        sqlx::query(sql::NOW).fetch_one(conn).await?.try_get("now")
    }

    async fn capacity(conn: &mut MySqlConnection) -> StoreResult<Option<Capacity>> {
        let limit = sqlx::query_scalar(sql::MOST).fetch_one(&mut *conn).await?;
        let open: String = sqlx::query(sql::OPEN).fetch_one(conn).await?.try_get_unchecked(1)?;
        let open = open.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        Ok(Some(Capacity { limit, open }))
    }

    async fn list(
        conn: &mut MySqlConnection,
        filter: &Filter,
        after: Option<&RecordKey>,
        limit: u32,
    ) -> StoreResult<Vec<Reading>> {
        // As bytes, which the columns are, so that no character set of a session comes between.
        let mut query = select::<MySql, Vec<u8>>(sql::DIALECT, filter, after, limit);
        query.build().fetch_all(conn).await?.iter().map(reading::<MySql>).collect()
    }

    async fn stats(conn: &mut MySqlConnection) -> StoreResult<Vec<Group>> {
        let rows = sqlx::query(sql::STATS).fetch_all(conn).await?;
        let group = |row: &MySqlRow| {
            Ok(Group {
                route: row.try_get_unchecked("route")?,
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

    async fn traffic(conn: &mut MySqlConnection, days: u32) -> StoreResult<Vec<Traffic>> {
        let rows = sqlx::query(sql::TRAFFIC).bind(days).fetch_all(conn).await?;
        let traffic = |row: &MySqlRow| {
            Ok(Traffic {
                route: row.try_get_unchecked("route")?,
                executed: counted(row.try_get("executed")?),
                replayed: counted(row.try_get("replayed")?),
            })
        };
        rows.iter().map(traffic).collect()
    }

    async fn due(conn: &mut MySqlConnection, due: Due) -> StoreResult<u64> {
        let query = match due {
            Due::Expire => sqlx::query_scalar(sql::DUE_TO_EXPIRE),
            Due::Purge(older_than) => {
                sqlx::query_scalar(sql::DUE_TO_PURGE).bind(millis(older_than)).bind(millis(older_than))
            }
        };
        let count: i64 = query.fetch_one(conn).await?;
        Ok(counted(count))
    }

    async fn release_noted(conn: &mut MySqlConnection, seen: &Record, note: &Release) -> StoreResult<bool> {
        let mut transaction = conn.begin().await?;
        if !Self::release(&mut transaction, &seen.key, seen.token, Some(seen.revision)).await? {
            transaction.rollback().await?;
            return Ok(false);
        }
        by_token(sqlx::query(sql::NOTE), &seen.key, seen.token)
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
