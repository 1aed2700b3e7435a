//! The SQL of the PostgreSQL store. Every statement: $1 to $4 are the unique key; fenced ones have the
//! attempt as $5 and the claim as $6.

use crate::store::row::record_columns;

macro_rules! by_key {
    () => {
        "tenant_id = $1 AND user_id = $2 AND route = $3 AND idempotency_key = $4"
    };
}

/// Only the attempt that owns the record, and only while it does.
macro_rules! owned {
    () => {
        concat!(by_key!(), " AND attempt = $5 AND claim_id = $6 AND status = 'processing'")
    };
}

/// A life that has ended: nobody may be at work on it, and its outcome must be known.
macro_rules! over {
    ($moment:literal) => {
        concat!(
            "sweep_after <= ",
            $moment,
            " AND expires_at <= ",
            $moment,
            " AND NOT outcome_unknown AND (status <> 'processing' OR ",
            "(locked_until <= statement_timestamp() AND (mode = 'transactional' OR on_lapse = 'rerun')))"
        )
    };
}

macro_rules! columns {
    () => {
        record_columns!("statement_timestamp()")
    };
}

/// One row: the end of the new lease. A snapshot transaction gets $9, as it cannot be renewed. Without $10
/// this statement alone commits asynchronously; duplicates see the claim at once all the same. It waits half
/// a second for a row that a commit in flight holds, such as one that waits for its standby.
macro_rules! lease {
    () => {
        "lease AS MATERIALIZED (SELECT statement_timestamp() + interval '1 millisecond' * \
         (CASE WHEN current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') \
         THEN $8::bigint ELSE $9::bigint END) AS lease_end, set_config('synchronous_commit', \
         CASE WHEN $10::boolean THEN current_setting('synchronous_commit') ELSE 'off' END, true) AS flush, \
         set_config('lock_timeout', '500', true) AS patience)"
    };
}

/// How a success and a failure are written.
macro_rules! settle {
    ($status:literal) => {
        concat!(
            "UPDATE idempotency_records SET status = '",
            $status,
            "', response_code = $7, ",
            "response_headers = $8, response_content_type = $9, response_body = $10, locked_until = NULL, ",
            "completed_at = statement_timestamp(), updated_at = statement_timestamp(), ",
            "expires_at = statement_timestamp() + interval '1 millisecond' * ttl_ms, ",
            "outcome_unknown = false, revision = revision + 1"
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

/// The settings of this very session, since a role's own override the server's.
pub(super) const SETTINGS: &str = "SELECT current_setting('synchronous_commit') AS synchronous_commit, \
     current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes, \
     current_setting('transaction_read_only') AS transaction_read_only, pg_is_in_recovery() AS in_recovery";

/// Takes no lock: whatever it shows is committed.
pub(super) const READ: &str = concat!("SELECT ", columns!(), " FROM idempotency_records WHERE ", by_key!());

/// Waits for the row lock, which the transaction of a lost COMMIT holds until it has ended either way.
pub(super) const READ_SETTLED: &str =
    concat!("SELECT ", columns!(), " FROM idempotency_records WHERE ", by_key!(), " FOR UPDATE");

/// The unique index lets one racer insert; where the row exists, it locks nothing and gives no row.
pub(super) const INSERT: &str = concat!(
    "WITH ",
    lease!(),
    " INSERT INTO idempotency_records ",
    "(tenant_id, user_id, route, idempotency_key, request_hash, request_fields, status, attempt, claim_id, ",
    "revision, locked_until, expires_at, mode, on_lapse, retry_failed, ttl_ms, lease_ms, wait_ms, ",
    "max_run_ms, outcome_unknown, created_at, updated_at, sweep_after) ",
    "SELECT $1, $2, $3, $4, $5, $6, 'processing', 1, $7, 1, lease_end, ",
    "greatest(lease_end, statement_timestamp() + interval '1 millisecond' * $14::bigint), ",
    "$11, $12, $13, $14, $8, $15, $16, false, statement_timestamp(), statement_timestamp(), ",
    "statement_timestamp() + interval '1 millisecond' * $14::bigint FROM lease ",
    "ON CONFLICT (tenant_id, user_id, route, idempotency_key) DO NOTHING ",
    "RETURNING locked_until, expires_at, created_at"
);

/// The row lock lets one racer through; the revision shows the others that the row they judged is gone.
/// The birth shows it when a purge came in between and a claim that was sent again began a row with the same token.
pub(super) const TAKE_OVER: &str = concat!(
    "WITH ",
    lease!(),
    " UPDATE idempotency_records SET ",
    "request_hash = CASE WHEN $17 THEN $5 ELSE request_hash END, ",
    "request_fields = CASE WHEN $17 THEN $6 ELSE request_fields END, ",
    "task_id = CASE WHEN $17 THEN NULL ELSE task_id END, ",
    "outbox_event_id = CASE WHEN $17 THEN NULL ELSE outbox_event_id END, ",
    "steps = CASE WHEN $17 THEN NULL ELSE steps END, ",
    "created_at = CASE WHEN $17 THEN statement_timestamp() ELSE created_at END, ",
    "status = 'processing', attempt = attempt + 1, claim_id = $7, revision = revision + 1, ",
    "locked_until = lease_end, ",
    "expires_at = greatest(lease_end, statement_timestamp() + interval '1 millisecond' * $14::bigint), ",
    "sweep_after = statement_timestamp() + interval '1 millisecond' * $14::bigint, ",
    "response_code = NULL, response_headers = NULL, response_content_type = NULL, response_body = NULL, ",
    "mode = $11, on_lapse = $12, retry_failed = $13, ttl_ms = $14, lease_ms = $8, wait_ms = $15, ",
    "max_run_ms = $16, outcome_unknown = false, released_at = NULL, completed_at = NULL, ",
    "updated_at = statement_timestamp() FROM lease WHERE ",
    by_key!(),
    " AND attempt = $18 AND claim_id = $19 AND revision = $20 AND created_at = $21 RETURNING ",
    columns!()
);

/// The mark is local to the transaction that `begin` began: another one does not have it.
pub(super) const IS_INTACT: &str = "SELECT coalesce(current_setting('idem.claim', true) = $1, false)";

/// Fenced by token, status and mark; the row lock is held until the commit, so nobody takes over in between.
pub(super) const COMPLETE_IN_TRANSACTION: &str = concat!(
    settle!("succeeded"),
    ", ",
    bindings!("$11", "$12"),
    " WHERE ",
    owned!(),
    " AND current_setting('idem.claim', true) = $13 RETURNING expires_at"
);

/// Fenced by token and status: a zombie touches no row.
pub(super) const COMPLETE: &str = concat!(
    settle!("succeeded"),
    ", steps = NULL, ",
    bindings!("$11", "$12"),
    " WHERE ",
    owned!(),
    " RETURNING expires_at"
);

/// Fenced by token and status: a zombie cannot fail the new owner's record.
pub(super) const FAIL: &str = concat!(settle!("failed"), " WHERE ", owned!(), " RETURNING expires_at");

/// Fenced by token, and by revision where an operator judged the row; a success is never released.
pub(super) const RELEASE: &str = concat!(
    "UPDATE idempotency_records SET status = 'failed', response_code = NULL, response_headers = NULL, ",
    "response_content_type = NULL, response_body = NULL, locked_until = NULL, outcome_unknown = false, ",
    "released_at = statement_timestamp(), completed_at = statement_timestamp(), ",
    "updated_at = statement_timestamp(), revision = revision + 1 WHERE ",
    by_key!(),
    " AND attempt = $5 AND claim_id = $6 AND status IN ('processing', 'failed') ",
    "AND ($7::bigint IS NULL OR revision = $7)"
);

/// Fenced by token and status: a lapsed owner that was replaced cannot extend the new owner's lease.
pub(super) const RENEW: &str = concat!(
    "UPDATE idempotency_records SET ",
    "locked_until = statement_timestamp() + interval '1 millisecond' * $7::bigint, ",
    "expires_at = greatest(expires_at, statement_timestamp() + interval '1 millisecond' * $7::bigint), ",
    "updated_at = statement_timestamp(), revision = revision + 1 WHERE ",
    owned!(),
    " AND NOT outcome_unknown RETURNING locked_until"
);

/// Fenced by token and status; a lease that has ended already stays as it is.
pub(super) const END_LEASE: &str = concat!(
    "UPDATE idempotency_records SET locked_until = least(locked_until, statement_timestamp()), ",
    "updated_at = statement_timestamp(), revision = revision + 1 WHERE ",
    owned!()
);

/// Fenced by token and status: only the attempt itself can say that its outcome is unknown.
pub(super) const MARK_UNKNOWN: &str = concat!(
    "UPDATE idempotency_records SET locked_until = least(locked_until, statement_timestamp()), ",
    "outcome_unknown = true, updated_at = statement_timestamp(), revision = revision + 1 WHERE ",
    owned!()
);

/// Fenced by token and status: whoever was replaced learns it before it takes another step.
pub(super) const STEPS: &str = concat!("SELECT steps FROM idempotency_records WHERE ", owned!());

/// Fenced by token and status: a zombie's step is not kept for the new owner, which takes it itself.
pub(super) const KEEP_STEPS: &str = concat!(
    "UPDATE idempotency_records SET steps = $7, updated_at = statement_timestamp(), revision = revision + 1 WHERE ",
    owned!()
);

/// Fenced by token and status: a zombie's task is not bound to the new owner's record.
pub(super) const BIND: &str = concat!(
    "UPDATE idempotency_records SET ",
    bindings!("$7", "$8"),
    ", updated_at = statement_timestamp(), revision = revision + 1 WHERE ",
    owned!()
);

/// Rows that somebody is at work on are skipped, and the predicate is checked again on the locked row.
pub(super) const EXPIRE: &str = concat!(
    "UPDATE idempotency_records SET status = 'expired', locked_until = NULL, ",
    "updated_at = statement_timestamp(), revision = revision + 1 ",
    "WHERE ctid = ANY(ARRAY(SELECT ctid FROM idempotency_records WHERE status <> 'expired' AND ",
    over!("statement_timestamp()"),
    " ORDER BY sweep_after LIMIT $1 FOR UPDATE SKIP LOCKED))"
);

/// As `EXPIRE`: a row is deleted only while it is locked and still past its life.
pub(super) const PURGE: &str = concat!(
    "DELETE FROM idempotency_records WHERE ctid = ANY(ARRAY(SELECT ctid FROM idempotency_records WHERE ",
    over!("statement_timestamp() - interval '1 millisecond' * $2::bigint"),
    " ORDER BY sweep_after LIMIT $1 FOR UPDATE SKIP LOCKED))"
);

pub(super) mod inspect;
pub(super) mod maintain;
pub(super) mod outbox;
