//! The statements of an operator: those that read take no lock and see what is committed as they begin.

use crate::store::inspect::select::{After, Dialect};
use crate::store::row::record_columns;

/// How a list is written here: the record without its body.
pub(in crate::store) const DIALECT: Dialect = Dialect {
    columns: record_columns!("statement_timestamp()", "NULL::bytea AS response_body"),
    now: "statement_timestamp()",
    millis_ago: "statement_timestamp() - interval '1 millisecond' * ",
    after: After::Row,
};

/// A row of the versions is there once its migration has committed.
pub(in crate::store) const APPLIED: &str =
    "SELECT version FROM _idem_migrations WHERE success ORDER BY version";

/// Looks names up in the catalogue by the search path, as the other statements do.
pub(in crate::store) const MISSING: &str = "SELECT wanted.name FROM unnest(ARRAY['idempotency_records', \
     'idempotency_releases', 'idempotency_maintenance', 'idempotency_records_pkey', 'idempotency_records_sweep_after', \
     'idempotency_traffic', 'idempotency_outbox_events', 'idempotency_outbox_events_due', 'idempotency_outbox_events_order']) AS wanted(name) \
     WHERE to_regclass(wanted.name) IS NULL OR EXISTS (SELECT 1 FROM pg_index \
     WHERE indexrelid = to_regclass(wanted.name) AND NOT indisvalid)";

/// Counts the sessions of this moment; others come and go.
pub(in crate::store) const CAPACITY: &str = "SELECT current_setting('max_connections')::bigint AS most, \
     count(*) AS open FROM pg_stat_activity WHERE backend_type = 'client backend'";

/// The clock alone.
pub(in crate::store) const NOW: &str = "SELECT statement_timestamp() AS now";

/// One snapshot of the whole table, so that its counts belong together.
pub(in crate::store) const STATS: &str = concat!(
    "SELECT route, status, count(*) AS records, ",
    "sum(CASE WHEN status = 'processing' AND (outcome_unknown OR locked_until <= ",
    "statement_timestamp()",
    ") THEN 1 ELSE 0 END) AS stuck, min(created_at) AS oldest, max(updated_at) AS newest, ",
    "min(locked_until) AS first_lease_end, ",
    "statement_timestamp()",
    " AS now FROM idempotency_records GROUP BY route, status ORDER BY route, status"
);

/// One snapshot of the days that are asked for; they are whole days of UTC.
pub(in crate::store) const TRAFFIC: &str = "SELECT route, sum(executed)::bigint AS executed, \
     sum(replayed)::bigint AS replayed FROM idempotency_traffic \
     WHERE day > (statement_timestamp() AT TIME ZONE 'UTC')::date - $1::integer GROUP BY route ORDER BY route";

/// Counts what `EXPIRE` would change, by the same condition.
pub(in crate::store) const DUE_TO_EXPIRE: &str = concat!(
    "SELECT count(*) FROM idempotency_records WHERE status <> 'expired' AND ",
    over!("statement_timestamp()")
);

/// Counts what `PURGE` would delete, by the same condition.
pub(in crate::store) const DUE_TO_PURGE: &str = concat!(
    "SELECT count(*) FROM idempotency_records WHERE ",
    over!("statement_timestamp() - interval '1 millisecond' * $1::bigint")
);

/// Runs in the transaction of `RELEASE`, which holds the row: the note and the release commit together.
pub(in crate::store) const NOTE: &str = concat!(
    "INSERT INTO idempotency_releases (tenant_id, user_id, route, idempotency_key, attempt, claim_id, ",
    "status_before, outcome_was_unknown, forced, released_by, reason, released_at) ",
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ",
    "statement_timestamp()",
    ")"
);
