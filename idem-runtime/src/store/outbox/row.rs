//! Turns a row into an event; the same for every database.

use sqlx::{ColumnIndex, Database, Decode, Row, Type};
use uuid::Uuid;

use super::{EventGroup, EventStatus, NewEvent, StoredEvent};
use crate::record::Timestamp;

/// The columns of an event in the order in which every statement selects them, with the time as `now`.
macro_rules! event_columns {
    ($now:expr) => {
        concat!(
            "event.sequence, event.event_id, event.event_type, event.event_version, event.tenant_id, ",
            "event.user_id, event.aggregate_key, event.payload, event.headers, event.status, event.attempt, ",
            "event.deliveries, event.claim_id, event.due_at, event.delivered_to, event.last_error, event.created_at, ",
            "event.completed_at, ",
            $now,
            " AS now"
        )
    };
}
pub(in crate::store) use event_columns;

/// The event in a row that was selected with `event_columns`.
pub(in crate::store) fn event<DB: Database>(row: &DB::Row) -> Result<StoredEvent, sqlx::Error>
where
    for<'r> String: Decode<'r, DB> + Type<DB>,
    for<'r> i64: Decode<'r, DB> + Type<DB>,
    for<'r> Uuid: Decode<'r, DB> + Type<DB>,
    for<'r> Timestamp: Decode<'r, DB> + Type<DB>,
    &'static str: ColumnIndex<DB::Row>,
{
    // Unchecked, as MySQL holds names as bytes, which sqlx does not take for text by their type.
    let text = |column| row.try_get_unchecked::<String, _>(column);
    let status = text("status")?;
    let version: i64 = row.try_get("event_version")?;
    Ok(StoredEvent {
        event: NewEvent {
            id: row.try_get("event_id")?,
            event_type: text("event_type")?,
            version: u32::try_from(version).unwrap_or(u32::MAX),
            tenant: text("tenant_id")?,
            actor: text("user_id")?,
            aggregate: row.try_get_unchecked("aggregate_key")?,
            payload: text("payload")?,
            headers: text("headers")?,
        },
        sequence: row.try_get("sequence")?,
        status: EventStatus::parse(&status).ok_or_else(|| {
            let source = format!("status holds {status:?}, which this version does not know").into();
            sqlx::Error::ColumnDecode { index: "status".to_owned(), source }
        })?,
        attempt: row.try_get("attempt")?,
        deliveries: row.try_get("deliveries")?,
        claim_id: row.try_get("claim_id")?,
        due_at: row.try_get("due_at")?,
        delivered_to: text("delivered_to")?,
        last_error: row.try_get_unchecked("last_error")?,
        created_at: row.try_get("created_at")?,
        completed_at: row.try_get("completed_at")?,
        now: row.try_get("now")?,
    })
}

/// The group in a row of the counts.
pub(in crate::store) fn event_group<DB: Database>(row: &DB::Row) -> Result<EventGroup, sqlx::Error>
where
    for<'r> String: Decode<'r, DB> + Type<DB>,
    for<'r> i64: Decode<'r, DB> + Type<DB>,
    for<'r> Timestamp: Decode<'r, DB> + Type<DB>,
    &'static str: ColumnIndex<DB::Row>,
{
    Ok(EventGroup {
        event_type: row.try_get_unchecked("event_type")?,
        version: row.try_get("event_version")?,
        status: row.try_get_unchecked("status")?,
        events: row.try_get("events")?,
        oldest: row.try_get("oldest")?,
        now: row.try_get("now")?,
    })
}
