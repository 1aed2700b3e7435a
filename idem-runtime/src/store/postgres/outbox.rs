//! The outbox on PostgreSQL, one statement and one round trip each.

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgListener, PgRow};
use sqlx::{Postgres, Row};
use uuid::Uuid;

use super::sql::outbox as sql;
use super::{Statement, bind_answer, is_there, keyed, mark as transaction_mark, millis, touched};
use crate::record::FencingToken;
use crate::store::outbox::{event, event_group, select_events};
use crate::store::{
    EventChange, EventFilter, EventGroup, EventMark, EventToken, NewEvent, Outbox, Settled, Settlement,
    Store, StoreResult, StoredEvent,
};

/// How long to wait before listening again after the connection was lost.
const LISTEN_AGAIN: Duration = Duration::from_secs(5);

/// Listens on a connection of its own until that is lost; at once after connecting there may be something.
async fn hear(pool: &sqlx::Pool<Postgres>, heard: &(impl Fn() + Send + Sync)) -> StoreResult<()> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(sql::CHANNEL).await?;
    loop {
        heard();
        listener.recv().await?;
    }
}

fn held(sql: &'static str, token: EventToken) -> Statement {
    sqlx::query(sql).bind(token.sequence).bind(token.attempt).bind(token.claim_id)
}

/// Events that an UPDATE gave back, which knows no order.
fn taken(rows: &[PgRow]) -> StoreResult<Vec<StoredEvent>> {
    let mut taken = rows.iter().map(event::<Postgres>).collect::<Result<Vec<_>, _>>()?;
    taken.sort_by_key(|event| event.sequence);
    Ok(taken)
}

async fn first(conn: &mut PgConnection, statement: Statement) -> StoreResult<Option<StoredEvent>> {
    statement.fetch_optional(conn).await?.as_ref().map(event::<Postgres>).transpose()
}

impl Outbox for Postgres {
    async fn has_outbox(conn: &mut PgConnection) -> StoreResult<bool> {
        is_there(sqlx::query(sql::PROBE).execute(conn).await)
    }

    async fn publish(conn: &mut PgConnection, event: &NewEvent) -> StoreResult<()> {
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
        conn: &mut PgConnection,
        claim_id: Uuid,
        lease: Duration,
        batch: u32,
    ) -> StoreResult<Vec<StoredEvent>> {
        let statement = sqlx::query(sql::TAKE).bind(claim_id).bind(millis(lease)).bind(i64::from(batch));
        taken(&statement.fetch_all(conn).await?)
    }

    async fn take_next(
        conn: &mut PgConnection,
        claim_id: Uuid,
        lease: Duration,
        (tenant, aggregate): (&str, &str),
        batch: u32,
    ) -> StoreResult<Vec<StoredEvent>> {
        let statement = sqlx::query(sql::TAKE_NEXT).bind(claim_id).bind(millis(lease));
        let statement = statement.bind(tenant.to_owned()).bind(aggregate.to_owned());
        taken(&statement.bind(i64::from(batch)).fetch_all(conn).await?)
    }

    async fn settle(conn: &mut PgConnection, settlement: Settlement<'_>) -> StoreResult<Settled> {
        let Settlement { event, mark, claim, answer, bindings } = settlement;
        let (token, terms) = (FencingToken { attempt: 1, claim_id: claim.claim_id }, &claim.terms);
        let statement = keyed(sql::SETTLE, &claim.key)
            .bind(claim.request_hash.clone())
            .bind(claim.request_fields.clone())
            .bind(claim.claim_id)
            .bind(terms.mode.as_str())
            .bind(terms.on_lapse.as_str())
            .bind(terms.retry_failed)
            .bind(millis(terms.ttl))
            .bind(millis(terms.lease))
            .bind(millis(terms.wait))
            .bind(millis(terms.max_run));
        let statement = bind_answer(statement, Some(answer))
            .bind(bindings.task_id.clone())
            .bind(bindings.outbox_event_id.clone())
            .bind(transaction_mark(token))
            .bind(event.sequence)
            .bind(event.attempt)
            .bind(event.claim_id)
            .bind(format!("{} ", mark.handler_key))
            .bind(mark.complete);
        if touched(conn, statement).await? {
            return Ok(Settled::Done);
        }
        Ok(if !Self::is_intact(conn, token).await? {
            Settled::Ended
        } else if Self::read(conn, &claim.key).await?.is_some() {
            Settled::Met
        } else {
            Settled::Lost
        })
    }

    async fn change(conn: &mut PgConnection, token: EventToken, change: &EventChange) -> StoreResult<bool> {
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

    async fn listen(pool: &sqlx::Pool<Self>, heard: impl Fn() + Send + Sync) {
        loop {
            if let Err(error) = hear(pool, &heard).await {
                tracing::warn!(%error, "announcements of events cannot be heard; looking for events goes on");
            }
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    }

    async fn events(
        conn: &mut PgConnection,
        filter: &EventFilter,
        limit: u32,
    ) -> StoreResult<Vec<StoredEvent>> {
        let mut query = select_events::<Postgres>(sql::COLUMNS, filter, limit);
        query.build().fetch_all(conn).await?.iter().map(event::<Postgres>).collect()
    }

    async fn event(conn: &mut PgConnection, id: Uuid) -> StoreResult<Option<StoredEvent>> {
        first(conn, sqlx::query(sql::BY_ID).bind(id)).await
    }

    async fn event_stats(conn: &mut PgConnection) -> StoreResult<Vec<EventGroup>> {
        let rows = sqlx::query(sql::STATS).fetch_all(conn).await?;
        rows.iter().map(event_group::<Postgres>).collect()
    }

    async fn retry_event(conn: &mut PgConnection, id: Uuid) -> StoreResult<bool> {
        touched(conn, sqlx::query(sql::RETRY).bind(id)).await
    }

    async fn bury_event(conn: &mut PgConnection, id: Uuid, error: &str) -> StoreResult<bool> {
        touched(conn, sqlx::query(sql::BURY_BY_HAND).bind(id).bind(error.to_owned())).await
    }

    async fn purgeable_events(conn: &mut PgConnection, older_than: Duration) -> StoreResult<u64> {
        let count = sqlx::query(sql::PURGEABLE).bind(millis(older_than)).fetch_one(conn).await?;
        Ok(count.try_get::<i64, _>("events")?.unsigned_abs())
    }

    async fn purge_events(conn: &mut PgConnection, older_than: Duration, batch: u32) -> StoreResult<u64> {
        let statement = sqlx::query(sql::PURGE).bind(millis(older_than)).bind(i64::from(batch));
        Ok(statement.execute(conn).await?.rows_affected())
    }
}
