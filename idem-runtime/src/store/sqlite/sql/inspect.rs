//! The statements of an operator: those that read take no lock and see what is committed as they begin.

use crate::store::inspect::select::{After, Dialect};
use crate::store::row::record_columns;

/// How a list is written here: the record without its body.
pub(in crate::store) const DIALECT: Dialect = Dialect {
    columns: record_columns!(
        "CAST(round(unixepoch('subsec') * 1000.0) AS INTEGER) * 1000",
        "NULL AS response_body"
    ),
    now: now!(),
    millis_ago: concat!(now!(), " - 1000 * "),
    after: After::Row,
};

/// A row of the versions is there once its migration has committed.
pub(in crate::store) const APPLIED: &str =
    "SELECT version FROM _idem_migrations WHERE success ORDER BY version";

/// Looks names up in the schema, which no reader sees half changed.
pub(in crate::store) const MISSING: &str = "SELECT wanted.name FROM (SELECT 'idempotency_records' AS name \
     UNION ALL SELECT 'idempotency_releases' UNION ALL SELECT 'idempotency_maintenance' \
     UNION ALL SELECT 'idempotency_traffic' \
     UNION ALL SELECT 'idempotency_records_sweep_after' UNION ALL SELECT 'idempotency_outbox_events' \
     UNION ALL SELECT 'idempotency_outbox_events_due' UNION ALL SELECT 'idempotency_outbox_events_order') AS wanted \
     WHERE wanted.name NOT IN (SELECT name FROM sqlite_master)";

/// The clock alone.
pub(in crate::store) const NOW: &str = concat!("SELECT ", now!(), " AS now");

/// One snapshot of the whole table, so that its counts belong together.
pub(in crate::store) const STATS: &str = concat!(
    "SELECT route, status, count(*) AS records, ",
    "sum(CASE WHEN status = 'processing' AND (outcome_unknown OR locked_until <= ",
    now!(),
    ") THEN 1 ELSE 0 END) AS stuck, min(created_at) AS oldest, max(updated_at) AS newest, ",
    "min(locked_until) AS first_lease_end, ",
    now!(),
    " AS now FROM idempotency_records GROUP BY route, status ORDER BY route, status"
);

/// One snapshot of the days that are asked for; they are whole days of UTC.
pub(in crate::store) const TRAFFIC: &str = "SELECT route, sum(executed) AS executed, sum(replayed) AS replayed \
     FROM idempotency_traffic WHERE day > date('now', '-' || ?1 || ' days') GROUP BY route ORDER BY route";

/// Counts what `EXPIRE` would change, by the same condition.
pub(in crate::store) const DUE_TO_EXPIRE: &str =
    concat!("SELECT count(*) FROM idempotency_records WHERE status <> 'expired' AND ", over!(now!()));

/// Counts what `PURGE` would delete, by the same condition.
pub(in crate::store) const DUE_TO_PURGE: &str =
    concat!("SELECT count(*) FROM idempotency_records WHERE ", over!(concat!(now!(), " - ?1 * 1000")));

/// Runs in the transaction of `RELEASE`, which holds the row: the note and the release commit together.
pub(in crate::store) const NOTE: &str = concat!(
    "INSERT INTO idempotency_releases (tenant_id, user_id, route, idempotency_key, attempt, claim_id, ",
    "status_before, outcome_was_unknown, forced, released_by, reason, released_at) ",
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ",
    now!(),
    ")"
);
