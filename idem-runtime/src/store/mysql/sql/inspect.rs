//! The statements of an operator: those that read take no lock and see what is committed as they begin.

use crate::store::inspect::select::{After, Dialect};
use crate::store::row::record_columns;

/// How a list is written here: the record without its body.
pub(in crate::store) const DIALECT: Dialect = Dialect {
    columns: record_columns!(
        "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
        "NULL AS response_body"
    ),
    now: now!(),
    millis_ago: concat!(now!(), " - 1000 * "),
    // The index is not used for a comparison of rows.
    after: After::ColumnByColumn,
};

/// A row of the versions is there once its migration has committed.
pub(in crate::store) const APPLIED: &str =
    "SELECT version FROM _idem_migrations WHERE success ORDER BY version";

/// Our tables, and their indexes as far as the server uses them; each server skips the other's condition.
pub(in crate::store) const PRESENT: &str = "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('idempotency_records', 'idempotency_releases', \
     'idempotency_maintenance', 'idempotency_traffic', 'idempotency_outbox_events') \
     UNION ALL SELECT CONCAT(INDEX_NAME, ' of ', TABLE_NAME) FROM information_schema.STATISTICS \
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('idempotency_records', 'idempotency_outbox_events') \
     AND SEQ_IN_INDEX = 1 \
     /*!80000 AND IS_VISIBLE = 'YES' */ /*M!100600 AND IGNORED = 'NO' */";

/// What `PRESENT` gives where nothing is missing, with the name under which it is known.
pub(in crate::store) const WANTED: [(&str, &str); 9] = [
    ("idempotency_records", "idempotency_records"),
    ("idempotency_releases", "idempotency_releases"),
    ("idempotency_maintenance", "idempotency_maintenance"),
    ("idempotency_traffic", "idempotency_traffic"),
    ("idempotency_outbox_events", "idempotency_outbox_events"),
    ("idempotency_outbox_events_due of idempotency_outbox_events", "idempotency_outbox_events_due"),
    ("idempotency_outbox_events_order of idempotency_outbox_events", "idempotency_outbox_events_order"),
    ("PRIMARY of idempotency_records", "the primary key of idempotency_records"),
    ("idempotency_records_sweep_after of idempotency_records", "idempotency_records_sweep_after"),
];

/// The most connections that the server takes.
pub(in crate::store) const MOST: &str = "SELECT CAST(@@max_connections AS SIGNED)";

/// The sessions of this moment; others come and go.
pub(in crate::store) const OPEN: &str = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";

/// The clock alone.
pub(in crate::store) const NOW: &str = concat!("SELECT ", now!(), " AS now");

/// One snapshot of the whole table, so that its counts belong together.
pub(in crate::store) const STATS: &str = concat!(
    "SELECT route, status, count(*) AS records, CAST(",
    "sum(CASE WHEN status = 'processing' AND (outcome_unknown OR locked_until <= ",
    now!(),
    ") THEN 1 ELSE 0 END) AS SIGNED) AS stuck, min(created_at) AS oldest, max(updated_at) AS newest, ",
    "min(locked_until) AS first_lease_end, ",
    now!(),
    " AS now FROM idempotency_records GROUP BY route, status ORDER BY route, status"
);

/// One snapshot of the days that are asked for; they are whole days of UTC.
pub(in crate::store) const TRAFFIC: &str = "SELECT route, CAST(sum(executed) AS SIGNED) AS executed, \
     CAST(sum(replayed) AS SIGNED) AS replayed FROM idempotency_traffic \
     WHERE day > UTC_DATE() - INTERVAL ? DAY GROUP BY route ORDER BY route";

/// Counts what `EXPIRE` would change, by the same condition.
pub(in crate::store) const DUE_TO_EXPIRE: &str =
    concat!("SELECT count(*) FROM idempotency_records WHERE status <> 'expired' AND ", over!(""));

/// Counts what `PURGE` would delete, by the same condition.
pub(in crate::store) const DUE_TO_PURGE: &str =
    concat!("SELECT count(*) FROM idempotency_records WHERE ", over!(" - 1000 * CAST(? AS SIGNED)"));

/// Runs in the transaction of `RELEASE`, which holds the row: the note and the release commit together.
pub(in crate::store) const NOTE: &str = concat!(
    "INSERT INTO idempotency_releases (tenant_id, user_id, route, idempotency_key, attempt, claim_id, ",
    "status_before, outcome_was_unknown, forced, released_by, reason, released_at) ",
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ",
    now!(),
    ")"
);
