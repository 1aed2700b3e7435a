//! The statement of a list, which has as many conditions as the filter.

use sqlx::{Database, Encode, QueryBuilder, Type};

use super::Filter;
use crate::key::RecordKey;
use crate::store::millis;

/// What the statement of a list needs to know of its database.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Dialect {
    /// The columns of a record, with the time.
    pub(in crate::store) columns: &'static str,
    /// The time.
    pub(in crate::store) now: &'static str,
    /// The time less a number of milliseconds, which follows.
    pub(in crate::store) millis_ago: &'static str,
}

/// The statement of a list: one read along the unique key, from behind the last one shown.
pub(in crate::store) fn select<DB: Database>(
    dialect: Dialect,
    filter: &Filter,
    after: Option<&RecordKey>,
    limit: u32,
) -> QueryBuilder<DB>
where
    for<'q> String: Encode<'q, DB> + Type<DB>,
    for<'q> i64: Encode<'q, DB> + Type<DB>,
{
    let mut query =
        QueryBuilder::new(format!("SELECT {} FROM idempotency_records WHERE 1 = 1", dialect.columns));
    let equal = [
        (" AND tenant_id = ", filter.tenant.clone()),
        (" AND user_id = ", filter.user.clone()),
        (" AND route = ", filter.route.clone()),
        (" AND status = ", filter.status.map(|status| status.as_str().to_owned())),
    ];
    for (column, value) in equal {
        if let Some(value) = value {
            query.push(column).push_bind(value);
        }
    }
    if filter.stuck {
        query.push(" AND status = 'processing' AND (outcome_unknown OR locked_until <= ");
        query.push(dialect.now).push(")");
    }
    if let Some(age) = filter.older_than {
        query.push(" AND created_at <= ").push(dialect.millis_ago).push_bind(millis(age));
    }
    if let Some(after) = after {
        query.push(" AND (tenant_id, user_id, route, idempotency_key) > (");
        let mut parts = query.separated(", ");
        for part in after.columns() {
            parts.push_bind(part.to_owned());
        }
        query.push(")");
    }
    query.push(" ORDER BY tenant_id, user_id, route, idempotency_key LIMIT ").push_bind(i64::from(limit));
    query
}
