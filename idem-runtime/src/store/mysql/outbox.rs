//! The outbox on MySQL and MariaDB: events are locked, read and taken in one transaction.

use std::time::Duration;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection, MySql, Row, Transaction};
use uuid::Uuid;

use super::sql::outbox as sql;
use super::{Statement, answer, fault, is_there, millis, touched};
use crate::store::outbox::{event, event_group, select_events};
use crate::store::{
    EventChange, EventFilter, EventGroup, EventMark, EventToken, NewEvent, Outbox, Settled, Settlement,
    StoreResult, StoredEvent,
};

fn by_token(statement: Statement, token: EventToken) -> Statement {
    statement.bind(token.sequence).bind(token.attempt).bind(token.claim_id)
}

/// Takes events that the open transaction has locked, as it gives them back, and commits.
async fn take_locked(
    mut transaction: Transaction<'_, MySql>,
    claim_id: Uuid,
    lease: Duration,
    mut locked: Vec<StoredEvent>,
) -> StoreResult<Vec<StoredEvent>> {
    if locked.is_empty() {
        transaction.rollback().await?;
        return Ok(locked);
    }
    let take = AssertSqlSafe(sql::take(claim_id, lease, &locked));
    sqlx::raw_sql(take).execute(&mut *transaction).await?;
    transaction.commit().await?;
    for event in &mut locked {
        event.claim_id = Some(claim_id);
        event.attempt += 1;
        event.deliveries += 1;
        event.due_at = event.now.plus(lease);
    }
    locked.sort_by_key(|event| event.sequence);
    Ok(locked)
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
        let due = due.iter().map(event::<MySql>).collect::<Result<Vec<_>, _>>()?;
        take_locked(transaction, claim_id, lease, due).await
    }

    async fn take_next(
        conn: &mut MySqlConnection,
        claim_id: Uuid,
        lease: Duration,
        (tenant, aggregate): (&str, &str),
        batch: u32,
    ) -> StoreResult<Vec<StoredEvent>> {
        let mut transaction = conn.begin_with(sql::BEGIN_TAKE).await?;
        let next = sqlx::query(sql::NEXT)
            .bind(tenant.as_bytes().to_vec())
            .bind(aggregate.as_bytes().to_vec())
            .bind(i64::from(batch));
        let next = next.fetch_all(&mut *transaction).await?;
        let mut next = next.iter().map(event::<MySql>).collect::<Result<Vec<_>, _>>()?;
        let due = next.iter().take_while(|event| event.due_at <= event.now).count();
        next.truncate(due);
        take_locked(transaction, claim_id, lease, next).await
    }

    async fn settle(conn: &mut MySqlConnection, settlement: Settlement<'_>) -> StoreResult<Settled> {
        answer::check_size(conn, settlement.answer).await?;
        match sqlx::raw_sql(AssertSqlSafe(sql::settle(settlement))).execute(conn).await {
            Ok(done) if done.rows_affected() == 2 => Ok(Settled::Done),
            Ok(_) => Ok(Settled::Lost),
            Err(error) => match fault::number(&error) {
                Some(fault::NO_SAVEPOINT) => Ok(Settled::Ended),
                Some(fault::DUPLICATE) => Ok(Settled::Met),
                _ => Err(error),
            },
        }
    }

    async fn change(
        conn: &mut MySqlConnection,
        token: EventToken,
        change: &EventChange,
    ) -> StoreResult<bool> {
        let statement = match change {
            EventChange::Extend(lease) => sqlx::query(sql::EXTEND).bind(millis(*lease)),
            EventChange::Deliver(EventMark { handler_key, complete }) => {
                sqlx::query(sql::DELIVER).bind(format!("{handler_key} ")).bind(*complete).bind(*complete)
            }
            EventChange::GiveBack => sqlx::query(sql::GIVE_BACK),
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
