//! The outbox on SQLite: each a single statement, as SQLite lets one writer in at a time.

use std::time::Duration;

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Row, Sqlite};
use uuid::Uuid;

use super::sql::outbox as sql;
use super::{Statement, bind_answer, bind_claim, is_there, keyed, leave, millis, row, touched};
use crate::store::outbox::{event, event_group, select_events};
use crate::store::{
    EventChange, EventFilter, EventGroup, EventMark, EventToken, NewEvent, Outbox, Settled, Settlement,
    StoreResult, StoredEvent,
};

fn held(sql: &'static str, token: EventToken) -> Statement {
    sqlx::query(sql).bind(token.sequence).bind(token.attempt).bind(token.claim_id)
}

/// Events that an UPDATE gave back, which knows no order.
fn taken(rows: &[SqliteRow]) -> StoreResult<Vec<StoredEvent>> {
    let mut taken = rows.iter().map(event::<Sqlite>).collect::<Result<Vec<_>, _>>()?;
    taken.sort_by_key(|event| event.sequence);
    Ok(taken)
}

async fn first(conn: &mut SqliteConnection, statement: Statement) -> StoreResult<Option<StoredEvent>> {
    row(conn, statement).await?.as_ref().map(event::<Sqlite>).transpose()
}

impl Outbox for Sqlite {
    async fn has_outbox(conn: &mut SqliteConnection) -> StoreResult<bool> {
        is_there(sqlx::query(sql::PROBE).execute(conn).await)
    }

    async fn publish(conn: &mut SqliteConnection, event: &NewEvent) -> StoreResult<()> {
        let event = event.clone();
        sqlx::query(sql::PUBLISH)
            .bind(event.id)
            .bind(event.event_type)
            .bind(i64::from(event.version))
            .bind(event.tenant)
            .bind(event.actor)
            .bind(event.aggregate)
            .bind(event.payload)
            .bind(event.headers)
            .execute(conn)
            .await?;
        Ok(())
    }

    async fn take(
        conn: &mut SqliteConnection,
        claim_id: Uuid,
        lease: Duration,
        batch: u32,
    ) -> StoreResult<Vec<StoredEvent>> {
        let statement = sqlx::query(sql::TAKE).bind(claim_id).bind(millis(lease)).bind(i64::from(batch));
        taken(&statement.fetch_all(conn).await?)
    }

    async fn take_next(
        conn: &mut SqliteConnection,
        claim_id: Uuid,
        lease: Duration,
        (tenant, aggregate): (&str, &str),
        batch: u32,
    ) -> StoreResult<Vec<StoredEvent>> {
        let statement = sqlx::query(sql::TAKE_NEXT).bind(claim_id).bind(millis(lease));
        let statement = statement.bind(tenant.to_owned()).bind(aggregate.to_owned());
        taken(&statement.bind(i64::from(batch)).fetch_all(conn).await?)
    }

    async fn settle(conn: &mut SqliteConnection, settlement: Settlement<'_>) -> StoreResult<Settled> {
        let Settlement { event, mark, claim, answer, bindings } = settlement;
        if !leave(conn).await? {
            return Ok(Settled::Ended);
        }
        if !Self::change(conn, event, &EventChange::Deliver(mark.clone())).await? {
            return Ok(Settled::Lost);
        }
        let record = bind_answer(bind_claim(keyed(sql::RECORD, &claim.key), claim), Some(answer))
            .bind(bindings.task_id.clone())
            .bind(bindings.outbox_event_id.clone());
        Ok(if touched(conn, record).await? { Settled::Done } else { Settled::Met })
    }

    async fn change(
        conn: &mut SqliteConnection,
        token: EventToken,
        change: &EventChange,
    ) -> StoreResult<bool> {
        let statement = match change {
            EventChange::Extend(lease) => held(sql::EXTEND, token).bind(millis(*lease)),
            EventChange::Deliver(EventMark { handler_key, complete }) => {
                held(sql::DELIVER, token).bind(format!("{handler_key} ")).bind(*complete)
            }
            EventChange::GiveBack => held(sql::GIVE_BACK, token),
            EventChange::Postpone { pause, error, counts } => {
                held(sql::POSTPONE, token).bind(millis(*pause)).bind(error.clone()).bind(*counts)
            }
            EventChange::Bury { error } => held(sql::BURY, token).bind(error.clone()),
        };
        touched(conn, statement).await
    }

    async fn listen(_: &sqlx::Pool<Self>, _: impl Fn() + Send + Sync) {
        std::future::pending::<()>().await;
    }

    async fn events(
        conn: &mut SqliteConnection,
        filter: &EventFilter,
        limit: u32,
    ) -> StoreResult<Vec<StoredEvent>> {
        let mut query = select_events::<Sqlite>(sql::COLUMNS, filter, limit);
        query.build().fetch_all(conn).await?.iter().map(event::<Sqlite>).collect()
    }

    async fn event(conn: &mut SqliteConnection, id: Uuid) -> StoreResult<Option<StoredEvent>> {
        first(conn, sqlx::query(sql::BY_ID).bind(id)).await
    }

    async fn event_stats(conn: &mut SqliteConnection) -> StoreResult<Vec<EventGroup>> {
        let rows = sqlx::query(sql::STATS).fetch_all(conn).await?;
        rows.iter().map(event_group::<Sqlite>).collect()
    }

    async fn retry_event(conn: &mut SqliteConnection, id: Uuid) -> StoreResult<bool> {
        touched(conn, sqlx::query(sql::RETRY).bind(id)).await
    }

    async fn bury_event(conn: &mut SqliteConnection, id: Uuid, error: &str) -> StoreResult<bool> {
        touched(conn, sqlx::query(sql::BURY_BY_HAND).bind(id).bind(error.to_owned())).await
    }

    async fn purgeable_events(conn: &mut SqliteConnection, older_than: Duration) -> StoreResult<u64> {
        let count = sqlx::query(sql::PURGEABLE).bind(millis(older_than)).fetch_one(conn).await?;
        Ok(count.try_get::<i64, _>("events")?.unsigned_abs())
    }

    async fn purge_events(conn: &mut SqliteConnection, older_than: Duration, batch: u32) -> StoreResult<u64> {
        let statement = sqlx::query(sql::PURGE).bind(millis(older_than)).bind(i64::from(batch));
        Ok(statement.execute(conn).await?.rows_affected())
    }
}
