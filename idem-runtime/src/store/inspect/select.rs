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
    /// What lets the unique key be read from the middle.
    pub(in crate::store) after: After,
}

/// How "behind this key" is said.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) enum After {
    /// As one comparison of rows.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    Row,
    /// Column by column: greater, or equal and the rest greater.
    #[cfg(feature = "mysql")]
    ColumnByColumn,
}

const KEY: [&str; 4] = ["tenant_id", "user_id", "route", "idempotency_key"];

/// The statement of a list: one read along the unique key, from behind the last one shown; `Text` is how the
/// database takes text.
pub(in crate::store) fn select<DB: Database, Text>(
    dialect: Dialect,
    filter: &Filter,
    after: Option<&RecordKey>,
    limit: u32,
) -> QueryBuilder<DB>
where
    for<'q> Text: From<String> + Encode<'q, DB> + Type<DB> + 'q,
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
            query.push(column).push_bind(Text::from(value));
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
        behind::<DB, Text>(&mut query, dialect.after, after);
    }
    query.push(" ORDER BY tenant_id, user_id, route, idempotency_key LIMIT ").push_bind(i64::from(limit));
    query
}

fn behind<DB: Database, Text>(query: &mut QueryBuilder<DB>, form: After, after: &RecordKey)
where
    for<'q> Text: From<String> + Encode<'q, DB> + Type<DB> + 'q,
{
    let values = || after.columns().map(|value| Text::from(value.to_owned()));
    match form {
        #[cfg(any(feature = "postgres", feature = "sqlite"))]
        After::Row => {
            query.push(" AND (").push(KEY.join(", ")).push(") > (");
            let mut parts = query.separated(", ");
            for value in values() {
                parts.push_bind(value);
            }
            query.push(")");
        }
        #[cfg(feature = "mysql")]
        After::ColumnByColumn => {
            query.push(" AND (");
            for ((column, greater), equal) in KEY.iter().zip(values()).zip(values()) {
                query.push(column).push(" > ").push_bind(greater);
                if *column != "idempotency_key" {
                    query.push(" OR (").push(column).push(" = ").push_bind(equal).push(" AND (");
                }
            }
            query.push(")))))))");
        }
    }
}
