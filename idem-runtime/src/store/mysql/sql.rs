//! The SQL of the MySQL store, in what MySQL 8 and MariaDB have in common. Every statement: the unique key is
//! bound last, in the WHERE; fenced ones have the attempt and the claim after it.
//!
//! Neither server gives a changed row back from an UPDATE on both, so each fenced one hands a number of the row
//! to `LAST_INSERT_ID(n)`, which comes back with its reply; zero says that it touched no row. Counts of rows say
//! less, as clients differ in what they ask the server to count.

use std::time::Duration;

use crate::store::row::record_columns;

/// Microseconds since 1970-01-01; the same at every mention within one statement, in any time zone.
macro_rules! now {
    () => {
        "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
    };
}

macro_rules! by_key {
    () => {
        "tenant_id = ? AND user_id = ? AND route = ? AND idempotency_key = ?"
    };
}

macro_rules! by_token {
    () => {
        concat!(by_key!(), " AND attempt = ? AND claim_id = ?")
    };
}

/// Only the attempt that owns the record, and only while it does.
macro_rules! owned {
    () => {
        concat!(by_token!(), " AND status = 'processing'")
    };
}

/// A life that has ended: nobody may be at work on it, and its outcome must be known.
macro_rules! over {
    ($before:literal) => {
        concat!(
            "sweep_after <= ",
            now!(),
            $before,
            " AND expires_at <= ",
            now!(),
            $before,
            " AND NOT outcome_unknown AND (status <> 'processing' OR (locked_until <= ",
            now!(),
            " AND (mode = 'transactional' OR on_lapse = 'rerun')))"
        )
    };
}

macro_rules! columns {
    () => {
        record_columns!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))")
    };
}

/// Waits so many seconds for a row that a commit in flight holds; each server skips the other's spelling.
macro_rules! patient {
    ($seconds:literal, $verb:literal) => {
        concat!(
            "/*M!100100 SET STATEMENT innodb_lock_wait_timeout = ",
            $seconds,
            " FOR */ ",
            $verb,
            " /*+ SET_VAR(innodb_lock_wait_timeout = ",
            $seconds,
            ") */ "
        )
    };
}

/// The end of the new lease: of the first span where the body's transaction is a snapshot that a renewal would
/// make fail, which only MariaDB has, else of the second. The setting is asked for once per connection, as older
/// versions do not know it and asking costs more than the claim.
macro_rules! lease_end {
    () => {
        concat!(
            now!(),
            " + 1000 * IF(FALSE /*M!100100 OR (@@tx_isolation IN ('REPEATABLE-READ', 'SERIALIZABLE') ",
            "AND COALESCE(@idem_snapshots, @idem_snapshots := COALESCE((SELECT VARIABLE_VALUE ",
            "FROM information_schema.SESSION_VARIABLES ",
            "WHERE VARIABLE_NAME = 'innodb_snapshot_isolation'), 'OFF')) = 'ON') */, ",
            "CAST(? AS SIGNED), CAST(? AS SIGNED))"
        )
    };
}

/// The end of a life that begins now.
macro_rules! life_end {
    () => {
        concat!(now!(), " + 1000 * CAST(? AS SIGNED)")
    };
}

/// How a success and a failure are written; the end of life comes back.
macro_rules! settle {
    ($status:literal) => {
        concat!(
            "UPDATE idempotency_records SET status = '",
            $status,
            "', response_code = ?, ",
            "response_headers = ?, response_content_type = ?, response_body = ?, locked_until = NULL, ",
            "completed_at = ",
            now!(),
            ", updated_at = ",
            now!(),
            ", expires_at = LAST_INSERT_ID(",
            now!(),
            " + ttl_ms * 1000), outcome_unknown = FALSE, revision = revision + 1"
        )
    };
}

/// The revision comes back.
macro_rules! touch {
    () => {
        concat!("updated_at = ", now!(), ", revision = LAST_INSERT_ID(revision + 1)")
    };
}

macro_rules! bindings {
    () => {
        "task_id = COALESCE(?, task_id), outbox_event_id = COALESCE(?, outbox_event_id)"
    };
}

/// Fails when a table that the guard needs or one of its columns is missing; gives no row.
pub(super) const PROBE: &str = concat!(
    "SELECT ",
    columns!(),
    ", steps FROM idempotency_records WHERE EXISTS (SELECT holder, locked_until FROM idempotency_maintenance) ",
    "AND EXISTS (SELECT executed, replayed FROM idempotency_traffic) LIMIT 0"
);

/// The settings of this very session, as far as the server knows them.
pub(super) const SETTINGS: &str = "SHOW SESSION VARIABLES WHERE Variable_name IN ('autocommit', \
     'innodb_doublewrite', 'innodb_flush_log_at_trx_commit', 'log_bin', 'read_only', 'rpl_semi_sync_master_enabled', \
     'rpl_semi_sync_master_timeout', 'rpl_semi_sync_source_enabled', 'rpl_semi_sync_source_timeout', 'sql_mode', \
     'sync_binlog', 'transaction_isolation', 'transaction_read_only', 'tx_isolation', 'tx_read_only', \
     'wsrep_dirty_reads', 'wsrep_on', 'wsrep_sync_wait')";

/// Whether semi-synchronous replication holds right now; it turns itself off when a replica is too slow.
pub(super) const SEMI_SYNC: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_master_status', \
     'Rpl_semi_sync_source_status')";

/// Whether the session is on a Galera node, and for what it waits.
pub(super) const WAITS: &str =
    "SHOW SESSION VARIABLES WHERE Variable_name IN ('wsrep_on', 'wsrep_sync_wait')";

/// Every statement waits until this node has what the others had committed before.
pub(super) const WAIT: &str = "SET SESSION wsrep_sync_wait = 7";

/// Only one engine has transactions that hold what is promised.
pub(super) const ENGINE: &str = "SELECT CAST(ENGINE AS CHAR) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'idempotency_records'";

/// The largest packet that this session may send.
pub(super) const PACKET: &str = "SELECT CAST(@@max_allowed_packet AS SIGNED)";

/// Takes no lock: whatever it shows is committed.
pub(super) const READ: &str = concat!("SELECT ", columns!(), " FROM idempotency_records WHERE ", by_key!());

/// Waits for the row lock, which the transaction of a lost COMMIT holds until it has ended either way.
pub(super) fn read_settled(patience: Duration) -> String {
    // The server counts in whole seconds, and none would mean its own default.
    let seconds = patience.as_secs().max(1);
    format!(
        concat!(
            patient!("{0}", "SELECT"),
            columns!(),
            " FROM idempotency_records WHERE ",
            by_key!(),
            " FOR UPDATE"
        ),
        seconds
    )
}

/// The unique index lets one racer insert; the others get error 1062.
pub(super) const INSERT: &str = concat!(
    patient!("1", "INSERT"),
    "INTO idempotency_records ",
    "(tenant_id, user_id, route, idempotency_key, request_hash, request_fields, status, attempt, claim_id, ",
    "revision, locked_until, expires_at, mode, on_lapse, retry_failed, ttl_ms, lease_ms, wait_ms, ",
    "max_run_ms, outcome_unknown, created_at, updated_at, sweep_after) ",
    "VALUES (?, ?, ?, ?, ?, ?, 'processing', 1, ?, 1, ",
    lease_end!(),
    ", GREATEST(",
    lease_end!(),
    ", ",
    life_end!(),
    "), ?, ?, ?, ?, ?, ?, ?, FALSE, ",
    now!(),
    ", ",
    now!(),
    ", ",
    life_end!(),
    ")"
);

/// The row lock lets one racer through; the revision shows the others that the row they judged is gone.
/// The birth shows it when a purge came in between and a claim that was sent again began a row with the same token.
pub(super) const TAKE_OVER: &str = concat!(
    patient!("1", "UPDATE"),
    "idempotency_records SET ",
    "request_hash = IF(?, ?, request_hash), request_fields = IF(?, ?, request_fields), ",
    "task_id = IF(?, NULL, task_id), outbox_event_id = IF(?, NULL, outbox_event_id), ",
    "steps = IF(?, NULL, steps), ",
    "created_at = IF(?, ",
    now!(),
    ", created_at), status = 'processing', attempt = attempt + 1, claim_id = ?, locked_until = ",
    lease_end!(),
    ", expires_at = GREATEST(",
    lease_end!(),
    ", ",
    life_end!(),
    "), mode = ?, on_lapse = ?, retry_failed = ?, ttl_ms = ?, lease_ms = ?, wait_ms = ?, max_run_ms = ?, ",
    "sweep_after = ",
    life_end!(),
    ", response_code = NULL, response_headers = NULL, response_content_type = NULL, response_body = NULL, ",
    "outcome_unknown = FALSE, released_at = NULL, completed_at = NULL, ",
    touch!(),
    " WHERE ",
    by_token!(),
    " AND revision = ? AND created_at = ?"
);

/// The savepoint ends with the transaction, however that ends. MariaDB ends a transaction, and its session, that
/// stands still for longer than `max_run`, so that a frozen process blocks nobody for ever; MySQL has no such
/// setting, and the one statement that carries it does nothing else there.
pub(super) fn begin(max_run: Duration) -> String {
    // The server counts in whole seconds, up to a year; none would mean never.
    let seconds = max_run.as_millis().div_ceil(1000).clamp(1, 31_536_000);
    format!(
        "SET /*M!100300 SESSION idle_transaction_timeout = {seconds}, */ @idem_begins = 1; START TRANSACTION; \
         SAVEPOINT idem_claim"
    )
}

/// Fails unless our savepoint is still there.
pub(super) const LEAVE: &str = "RELEASE SAVEPOINT idem_claim";

/// Why the last statement failed, if it did; any other statement forgets that.
pub(super) const LAST_ERROR: &str = "SHOW ERRORS";

/// Fenced by token and status: a zombie touches no row. In a transaction the row lock is held until the commit,
/// so nobody takes over in between, and an UPDATE reads what is committed even under an old snapshot.
pub(super) const COMPLETE: &str =
    concat!(settle!("succeeded"), ", steps = NULL, ", bindings!(), " WHERE ", owned!());

/// Fenced by token and status: a zombie cannot fail the new owner's record.
pub(super) const FAIL: &str = concat!(settle!("failed"), " WHERE ", owned!());

/// Fenced by token, and by revision where an operator judged the row; a success is never released.
pub(super) const RELEASE: &str = concat!(
    "UPDATE idempotency_records SET status = 'failed', response_code = NULL, response_headers = NULL, ",
    "response_content_type = NULL, response_body = NULL, locked_until = NULL, outcome_unknown = FALSE, ",
    "released_at = ",
    now!(),
    ", completed_at = ",
    now!(),
    ", ",
    touch!(),
    " WHERE ",
    by_token!(),
    " AND status IN ('processing', 'failed') AND revision = COALESCE(CAST(? AS SIGNED), revision)"
);

/// Fenced by token and status: a lapsed owner that was replaced cannot extend the new owner's lease.
pub(super) const RENEW: &str = concat!(
    "UPDATE idempotency_records SET locked_until = LAST_INSERT_ID(",
    life_end!(),
    "), expires_at = GREATEST(expires_at, ",
    life_end!(),
    "), updated_at = ",
    now!(),
    ", revision = revision + 1 WHERE ",
    owned!(),
    " AND NOT outcome_unknown"
);

/// Fenced by token and status; a lease that has ended already stays as it is.
pub(super) const END_LEASE: &str = concat!(
    "UPDATE idempotency_records SET locked_until = LEAST(locked_until, ",
    now!(),
    "), ",
    touch!(),
    " WHERE ",
    owned!()
);

/// Fenced by token and status: only the attempt itself can say that its outcome is unknown.
pub(super) const MARK_UNKNOWN: &str = concat!(
    "UPDATE idempotency_records SET locked_until = LEAST(locked_until, ",
    now!(),
    "), outcome_unknown = TRUE, ",
    touch!(),
    " WHERE ",
    owned!()
);

/// Fenced by token and status: whoever was replaced learns it before it takes another step.
pub(super) const STEPS: &str = concat!("SELECT steps FROM idempotency_records WHERE ", owned!());

/// Fenced by token and status: a zombie's step is not kept for the new owner, which takes it itself.
pub(super) const KEEP_STEPS: &str =
    concat!("UPDATE idempotency_records SET steps = ?, ", touch!(), " WHERE ", owned!());

/// Fenced by token and status: a zombie's task is not bound to the new owner's record.
pub(super) const BIND: &str =
    concat!("UPDATE idempotency_records SET ", bindings!(), ", ", touch!(), " WHERE ", owned!());

/// State and time stand in the statement, which judges each row after it has locked it.
pub(super) const EXPIRE: &str = concat!(
    patient!("1", "UPDATE"),
    "idempotency_records SET status = 'expired', locked_until = NULL, updated_at = ",
    now!(),
    ", revision = revision + 1 WHERE status <> 'expired' AND ",
    over!(""),
    " ORDER BY sweep_after LIMIT ?"
);

/// As `EXPIRE`.
pub(super) const PURGE: &str = concat!(
    patient!("1", "DELETE"),
    "FROM idempotency_records WHERE ",
    over!(" - 1000 * CAST(? AS SIGNED)"),
    " ORDER BY sweep_after LIMIT ?"
);

pub(super) mod inspect;
pub(super) mod maintain;
pub(super) mod outbox;
