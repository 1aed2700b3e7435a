//! The SQL of the SQLite store. Every statement: ?1 to ?4 are the unique key; fenced ones have the attempt
//! as ?5 and the claim as ?6. SQLite runs one writing statement at a time, so each is atomic as a whole.

use crate::store::row::record_columns;

/// Microseconds since 1970-01-01; the same at every mention within one statement.
macro_rules! now {
    () => {
        "CAST(round(unixepoch('subsec') * 1000.0) AS INTEGER) * 1000"
    };
}

macro_rules! by_key {
    () => {
        "tenant_id = ?1 AND user_id = ?2 AND route = ?3 AND idempotency_key = ?4"
    };
}

/// Only the attempt that owns the record, and only while it does.
macro_rules! owned {
    () => {
        concat!(by_key!(), " AND attempt = ?5 AND claim_id = ?6 AND status = 'processing'")
    };
}

/// A life that has ended: nobody may be at work on it, and its outcome must be known.
macro_rules! over {
    ($moment:expr) => {
        concat!(
            "sweep_after <= ",
            $moment,
            " AND expires_at <= ",
            $moment,
            " AND NOT outcome_unknown AND (status <> 'processing' OR ",
            "(locked_until <= ",
            now!(),
            " AND (mode = 'transactional' OR on_lapse = 'rerun')))"
        )
    };
}

macro_rules! columns {
    () => {
        record_columns!("CAST(round(unixepoch('subsec') * 1000.0) AS INTEGER) * 1000")
    };
}

/// How a success and a failure are written.
macro_rules! settle {
    ($status:literal) => {
        concat!(
            "UPDATE idempotency_records SET status = '",
            $status,
            "', response_code = ?7, ",
            "response_headers = ?8, response_content_type = ?9, response_body = ?10, locked_until = NULL, ",
            "completed_at = ",
            now!(),
            ", updated_at = ",
            now!(),
            ", ",
            "expires_at = ",
            now!(),
            " + ttl_ms * 1000, outcome_unknown = 0, revision = revision + 1"
        )
    };
}

macro_rules! bindings {
    ($task:literal, $event:literal) => {
        concat!(
            "task_id = coalesce(",
            $task,
            ", task_id), ",
            "outbox_event_id = coalesce(",
            $event,
            ", outbox_event_id)"
        )
    };
}

/// Fails when a table that the guard needs or one of its columns is missing; gives no row.
pub(super) const PROBE: &str = concat!(
    "SELECT ",
    columns!(),
    ", steps FROM idempotency_records WHERE EXISTS (SELECT holder, locked_until FROM idempotency_maintenance) ",
    "AND EXISTS (SELECT executed, replayed FROM idempotency_traffic) LIMIT 0"
);

/// The settings of this very connection, and whether it is a file at all.
pub(super) const SETTINGS: &str = "SELECT s.synchronous AS synchronous, j.journal_mode AS journal_mode, \
     (SELECT read_uncommitted FROM pragma_read_uncommitted) AS read_uncommitted, \
     coalesce((SELECT file FROM pragma_database_list WHERE name = 'main'), '') AS file \
     FROM pragma_synchronous AS s, pragma_journal_mode AS j";

/// Takes no write lock: whatever it shows is committed.
pub(super) const READ: &str = concat!("SELECT ", columns!(), " FROM idempotency_records WHERE ", by_key!());

/// The unique index lets one racer insert; RETURNING is empty for the others.
pub(super) const INSERT: &str = concat!(
    "INSERT INTO idempotency_records ",
    "(tenant_id, user_id, route, idempotency_key, request_hash, request_fields, status, attempt, claim_id, ",
    "revision, locked_until, expires_at, mode, on_lapse, retry_failed, ttl_ms, lease_ms, wait_ms, ",
    "max_run_ms, outcome_unknown, created_at, updated_at, sweep_after) ",
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'processing', 1, ?7, 1, ",
    now!(),
    " + ?8 * 1000, ",
    now!(),
    " + ?12 * 1000, ?9, ?10, ?11, ?12, ?8, ?13, ?14, 0, ",
    now!(),
    ", ",
    now!(),
    ", ",
    now!(),
    " + ?12 * 1000) ",
    "ON CONFLICT (tenant_id, user_id, route, idempotency_key) DO NOTHING ",
    "RETURNING locked_until, expires_at, created_at"
);

/// The revision shows all racers but one that the row they judged is gone. The birth shows it when a purge came in
/// between and a claim that was sent again began a row with the same token.
pub(super) const TAKE_OVER: &str = concat!(
    "UPDATE idempotency_records SET ",
    "request_hash = CASE WHEN ?15 THEN ?5 ELSE request_hash END, ",
    "request_fields = CASE WHEN ?15 THEN ?6 ELSE request_fields END, ",
    "task_id = CASE WHEN ?15 THEN NULL ELSE task_id END, ",
    "outbox_event_id = CASE WHEN ?15 THEN NULL ELSE outbox_event_id END, ",
    "steps = CASE WHEN ?15 THEN NULL ELSE steps END, ",
    "created_at = CASE WHEN ?15 THEN ",
    now!(),
    " ELSE created_at END, ",
    "status = 'processing', attempt = attempt + 1, claim_id = ?7, revision = revision + 1, ",
    "locked_until = ",
    now!(),
    " + ?8 * 1000, expires_at = ",
    now!(),
    " + ?12 * 1000, sweep_after = ",
    now!(),
    " + ?12 * 1000, ",
    "response_code = NULL, response_headers = NULL, response_content_type = NULL, response_body = NULL, ",
    "mode = ?9, on_lapse = ?10, retry_failed = ?11, ttl_ms = ?12, lease_ms = ?8, wait_ms = ?13, ",
    "max_run_ms = ?14, outcome_unknown = 0, released_at = NULL, completed_at = NULL, ",
    "updated_at = ",
    now!(),
    " WHERE ",
    by_key!(),
    " AND attempt = ?16 AND claim_id = ?17 AND revision = ?18 AND created_at = ?19 RETURNING ",
    columns!()
);

/// IMMEDIATE takes the write lock now, so that the body cannot fail half-way for want of it. The savepoint
/// is gone when the body has ended the transaction.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE; SAVEPOINT idem_claim";

/// Fails unless our savepoint is still open.
pub(super) const LEAVE: &str = "RELEASE SAVEPOINT idem_claim";

/// Fenced by token and status: a zombie touches no row.
pub(super) const COMPLETE: &str = concat!(
    settle!("succeeded"),
    ", steps = NULL, ",
    bindings!("?11", "?12"),
    " WHERE ",
    owned!(),
    " RETURNING expires_at"
);

/// Fenced by token and status: a zombie cannot fail the new owner's record.
pub(super) const FAIL: &str = concat!(settle!("failed"), " WHERE ", owned!(), " RETURNING expires_at");

/// Fenced by token, and by revision where an operator judged the row; a success is never released.
pub(super) const RELEASE: &str = concat!(
    "UPDATE idempotency_records SET status = 'failed', response_code = NULL, response_headers = NULL, ",
    "response_content_type = NULL, response_body = NULL, locked_until = NULL, outcome_unknown = 0, ",
    "released_at = ",
    now!(),
    ", completed_at = ",
    now!(),
    ", updated_at = ",
    now!(),
    ", ",
    "revision = revision + 1 WHERE ",
    by_key!(),
    " AND attempt = ?5 AND claim_id = ?6 AND status IN ('processing', 'failed') ",
    "AND (?7 IS NULL OR revision = ?7)"
);

/// Fenced by token and status: a lapsed owner that was replaced cannot extend the new owner's lease.
pub(super) const RENEW: &str = concat!(
    "UPDATE idempotency_records SET locked_until = ",
    now!(),
    " + ?7 * 1000, ",
    "expires_at = max(expires_at, ",
    now!(),
    " + ?7 * 1000), updated_at = ",
    now!(),
    ", ",
    "revision = revision + 1 WHERE ",
    owned!(),
    " AND NOT outcome_unknown RETURNING locked_until"
);

/// Fenced by token and status; a lease that has ended already stays as it is.
pub(super) const END_LEASE: &str = concat!(
    "UPDATE idempotency_records SET locked_until = min(locked_until, ",
    now!(),
    "), ",
    "updated_at = ",
    now!(),
    ", revision = revision + 1 WHERE ",
    owned!()
);

/// Fenced by token and status: only the attempt itself can say that its outcome is unknown.
pub(super) const MARK_UNKNOWN: &str = concat!(
    "UPDATE idempotency_records SET locked_until = min(locked_until, ",
    now!(),
    "), outcome_unknown = 1, ",
    "updated_at = ",
    now!(),
    ", revision = revision + 1 WHERE ",
    owned!()
);

/// Fenced by token and status: whoever was replaced learns it before it takes another step.
pub(super) const STEPS: &str = concat!("SELECT steps FROM idempotency_records WHERE ", owned!());

/// Fenced by token and status: a zombie's step is not kept for the new owner, which takes it itself.
pub(super) const KEEP_STEPS: &str = concat!(
    "UPDATE idempotency_records SET steps = ?7, revision = revision + 1, updated_at = ",
    now!(),
    " WHERE ",
    owned!()
);

/// Fenced by token and status: a zombie's task is not bound to the new owner's record.
pub(super) const BIND: &str = concat!(
    "UPDATE idempotency_records SET ",
    bindings!("?7", "?8"),
    ", updated_at = ",
    now!(),
    ", revision = revision + 1 WHERE ",
    owned!()
);

/// State and time stand in the statement, which holds the write lock as a whole.
pub(super) const EXPIRE: &str = concat!(
    "UPDATE idempotency_records SET status = 'expired', locked_until = NULL, updated_at = ",
    now!(),
    ", ",
    "revision = revision + 1 WHERE rowid IN (SELECT rowid FROM idempotency_records ",
    "WHERE status <> 'expired' AND ",
    over!(now!()),
    " ORDER BY sweep_after LIMIT ?1)"
);

/// As `EXPIRE`.
pub(super) const PURGE: &str = concat!(
    "DELETE FROM idempotency_records WHERE rowid IN (SELECT rowid FROM idempotency_records WHERE ",
    over!(concat!(now!(), " - ?2 * 1000")),
    " ORDER BY sweep_after LIMIT ?1)"
);

pub(super) mod inspect;
pub(super) mod maintain;
pub(super) mod outbox;
