//! The outbox on MySQL and MariaDB: events are locked, taken and read by three statements of one transaction.

use std::time::Duration;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection, MySql, Row};
use uuid::Uuid;

use super::sql::outbox as sql;
use super::{Statement, is_there, millis, touched};
use crate::store::outbox::{event, event_group, select_events};
use crate::store::{
    EventChange, EventFilter, EventGroup, EventToken, NewEvent, Outbox, StoreResult, StoredEvent,
};

fn by_token(statement: Statement, token: EventToken) -> Statement {
    statement.bind(token.sequence).bind(token.attempt).bind(token.claim_id)
}

/// Takes events that the open transaction has locked.
async fn take_locked(
    conn: &mut MySqlConnection,
    claim_id: Uuid,
    lease: Duration,
    locked: &[i64],
) -> StoreResult<Vec<StoredEvent>> {
    let marks = vec!["?"; locked.len()].join(", ");
    let take =
        sqlx::query(AssertSqlSafe(format!("{}{marks})", sql::TAKE))).bind(claim_id).bind(millis(lease));
    locked.iter().fold(take, |take, sequence| take.bind(*sequence)).execute(&mut *conn).await?;
    let taken = sqlx::query(AssertSqlSafe(format!("{}{marks}) ORDER BY event.sequence", sql::TAKEN)));
    let taken = locked.iter().fold(taken, |taken, sequence| taken.bind(*sequence));
    taken.fetch_all(conn).await?.iter().map(event::<MySql>).collect()
}

async fn first(conn: &mut MySqlConnection, statement: Statement) -> StoreResult<Option<StoredEvent>> {
    statement.fetch_optional(conn).await?.as_ref().map(event::<MySql>).transpose()
}

impl Outbox for MySql {
    async fn has_outbox(conn: &mut MySqlConnection) -> StoreResult<bool> {
        is_there(sqlx::query(sql::PROBE).execute(conn).await)
    }

    async fn publish(conn: &mut MySqlConnection, event: &NewEvent) -> StoreResult<()> {
        let event = event.clone();
        sqlx::query(sql::PUBLISH)
            .bind(event.id)
            .bind(event.event_type.into_bytes())
            .bind(i64::from(event.version))
            .bind(event.tenant.into_bytes())
            .bind(event.actor.into_bytes())
            .bind(event.aggregate.map(String::into_bytes))
            .bind(event.payload)
            .bind(event.headers)
            .execute(conn)
            .await?;
        Ok(())
    }

    async fn take(
        conn: &mut MySqlConnection,
        claim_id: Uuid,
        lease: Duration,
        batch: u32,
    ) -> StoreResult<Vec<StoredEvent>> {
        let mut transaction = conn.begin_with(sql::BEGIN_TAKE).await?;
        let due = sqlx::query(sql::DUE).bind(i64::from(batch)).fetch_all(&mut *transaction).await?;
        let due = due.iter().map(|row| row.try_get("sequence")).collect::<Result<Vec<i64>, _>>()?;
        if due.is_empty() {
            transaction.rollback().await?;
            return Ok(Vec::new());
        }
        let taken = take_locked(&mut transaction, claim_id, lease, &due).await?;
        transaction.commit().await?;
        Ok(taken)
    }

    async fn take_next(
        conn: &mut MySqlConnection,
        claim_id: Uuid,
        lease: Duration,
        tenant: &str,
        aggregate: &str,
    ) -> StoreResult<Option<StoredEvent>> {
        let mut transaction = conn.begin_with(sql::BEGIN_TAKE).await?;
        let next =
            sqlx::query(sql::NEXT).bind(tenant.as_bytes().to_vec()).bind(aggregate.as_bytes().to_vec());
        let next = next.fetch_optional(&mut *transaction).await?;
        let due = match next {
            Some(row) if row.try_get::<i64, _>("due")? == 1 => row.try_get("sequence")?,
            _ => {
                transaction.rollback().await?;
                return Ok(None);
            }
        };
        let taken = take_locked(&mut transaction, claim_id, lease, &[due]).await?;
        transaction.commit().await?;
        Ok(taken.into_iter().next())
    }

    async fn change(
        conn: &mut MySqlConnection,
        token: EventToken,
        change: &EventChange,
    ) -> StoreResult<bool> {
        let statement = match change {
            EventChange::Extend(lease) => sqlx::query(sql::EXTEND).bind(millis(*lease)),
            EventChange::Deliver { handler_key, complete } => {
                sqlx::query(sql::DELIVER).bind(format!("{handler_key} ")).bind(*complete).bind(*complete)
            }
            EventChange::Postpone { pause, error, counts } => {
                sqlx::query(sql::POSTPONE).bind(millis(*pause)).bind(error.clone()).bind(*counts)
            }
            EventChange::Bury { error } => sqlx::query(sql::BURY).bind(error.clone()),
        };
        touched(conn, by_token(statement, token)).await
    }

    async fn listen(_: &sqlx::Pool<Self>, _: impl Fn() + Send + Sync) {
        std::future::pending::<()>().await;
    }

    async fn events(
        conn: &mut MySqlConnection,
        filter: &EventFilter,
        limit: u32,
    ) -> StoreResult<Vec<StoredEvent>> {
        let mut query = select_events::<MySql>(sql::COLUMNS, filter, limit);
        query.build().fetch_all(conn).await?.iter().map(event::<MySql>).collect()
    }

    async fn event(conn: &mut MySqlConnection, id: Uuid) -> StoreResult<Option<StoredEvent>> {
        first(conn, sqlx::query(sql::BY_ID).bind(id)).await
    }

    async fn event_stats(conn: &mut MySqlConnection) -> StoreResult<Vec<EventGroup>> {
        let rows = sqlx::query(sql::STATS).fetch_all(conn).await?;
        rows.iter().map(event_group::<MySql>).collect()
    }

    async fn retry_event(conn: &mut MySqlConnection, id: Uuid) -> StoreResult<bool> {
        touched(conn, sqlx::query(sql::RETRY).bind(id)).await
    }

    async fn bury_event(conn: &mut MySqlConnection, id: Uuid, error: &str) -> StoreResult<bool> {
        touched(conn, sqlx::query(sql::BURY_BY_HAND).bind(error.to_owned()).bind(id)).await
    }

    async fn purgeable_events(conn: &mut MySqlConnection, older_than: Duration) -> StoreResult<u64> {
        let count = sqlx::query(sql::PURGEABLE).bind(millis(older_than)).fetch_one(conn).await?;
        Ok(count.try_get::<i64, _>("events")?.unsigned_abs())
    }

    async fn purge_events(conn: &mut MySqlConnection, older_than: Duration, batch: u32) -> StoreResult<u64> {
        let statement = sqlx::query(sql::PURGE).bind(millis(older_than)).bind(i64::from(batch));
        Ok(statement.execute(conn).await?.rows_affected())
    }
}
