//! The statement of a list of events, which has as many conditions as the filter.

use sqlx::{Database, Encode, QueryBuilder, Type};

use super::EventFilter;

/// One read along the numbers, from behind the last one shown; it takes no lock.
pub(in crate::store) fn select_events<DB: Database>(
    columns: &'static str,
    filter: &EventFilter,
    limit: u32,
) -> QueryBuilder<DB>
where
    for<'q> String: Encode<'q, DB> + Type<DB>,
    for<'q> i64: Encode<'q, DB> + Type<DB>,
{
    let mut query =
        QueryBuilder::new(format!("SELECT {columns} FROM idempotency_outbox_events AS event WHERE 1 = 1"));
    let equal = [
        (" AND event.status = ", filter.status.map(|status| status.as_str().to_owned())),
        (" AND event.event_type = ", filter.event_type.clone()),
        (" AND event.tenant_id = ", filter.tenant.clone()),
    ];
    for (column, value) in equal {
        if let Some(value) = value {
            query.push(column).push_bind(value);
        }
    }
    if let Some(after) = filter.after {
        query.push(" AND event.sequence > ").push_bind(after);
    }
    query.push(" ORDER BY event.sequence LIMIT ").push_bind(i64::from(limit));
    query
}
