//! The statements of the outbox. Those of a holder: $1 to $3 are number, attempt and claim of the event.

use crate::store::outbox::event_columns;

pub(in crate::store) const COLUMNS: &str = event_columns!("statement_timestamp()");

macro_rules! columns {
    () => {
        event_columns!("statement_timestamp()")
    };
}

/// Only the holder, and only while nobody has taken the event after it.
macro_rules! held {
    () => {
        " WHERE sequence = $1 AND attempt = $2 AND claim_id = $3 AND status = 'pending'"
    };
}

/// How an event is taken; the row lock of the `due` it is joined with lets one taker through. Its commit is not waited
/// for: a taking that a crash of the server undoes is fenced like one that another has followed.
macro_rules! taken {
    ($which:literal) => {
        concat!(
            "UPDATE idempotency_outbox_events AS event SET claim_id = $1, attempt = event.attempt + 1, ",
            "deliveries = event.deliveries + 1, ",
            "due_at = statement_timestamp() + interval '1 millisecond' * $2::bigint ",
            "FROM due CROSS JOIN (SELECT set_config('synchronous_commit', 'off', true) AS waits) AS commit ",
            "WHERE event.sequence = due.sequence AND commit.waits = 'off'",
            $which,
            " RETURNING ",
            columns!()
        )
    };
}

/// Fails when the table or one of its columns is missing; reads no row.
pub(in crate::store) const PROBE: &str =
    concat!("SELECT ", columns!(), " FROM idempotency_outbox_events AS event LIMIT 0");

/// In the body's transaction: nobody sees it before that commits.
pub(in crate::store) const PUBLISH: &str = "INSERT INTO idempotency_outbox_events \
     (event_id, event_type, event_version, tenant_id, user_id, aggregate_key, payload, headers, status, attempt, \
     deliveries, due_at, delivered_to, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', 0, 0, \
     statement_timestamp(), ' ', statement_timestamp())";

/// Takers skip each other's rows. Whether an earlier event of the aggregate is pending is asked of what is
/// committed, locked or not: one that is skipped holds its successors back all the same.
pub(in crate::store) const TAKE: &str = concat!(
    "WITH due AS MATERIALIZED (SELECT event.sequence FROM idempotency_outbox_events AS event ",
    "WHERE event.status = 'pending' AND event.due_at <= statement_timestamp() ",
    "AND (event.aggregate_key IS NULL OR NOT EXISTS (SELECT 1 FROM idempotency_outbox_events AS earlier ",
    "WHERE earlier.status = 'pending' AND earlier.tenant_id = event.tenant_id ",
    "AND earlier.aggregate_key = event.aggregate_key AND earlier.sequence < event.sequence)) ",
    "ORDER BY event.due_at, event.sequence LIMIT $3::bigint FOR UPDATE OF event SKIP LOCKED) ",
    taken!("")
);

/// Waits for a taker of the same rows instead of skipping them, which would take what comes behind them. Nothing is
/// taken behind an event that is not due.
pub(in crate::store) const TAKE_NEXT: &str = concat!(
    "WITH first AS MATERIALIZED (SELECT event.sequence, event.due_at FROM idempotency_outbox_events AS event ",
    "WHERE event.status = 'pending' AND event.tenant_id = $3 AND event.aggregate_key = $4 ",
    "ORDER BY event.sequence LIMIT $5::bigint FOR UPDATE OF event), ",
    "due AS (SELECT sequence, bool_and(due_at <= statement_timestamp()) OVER (ORDER BY sequence) AS is_due FROM first) ",
    taken!(" AND due.is_due")
);

/// Fenced by the token: a frozen holder cannot shorten or prolong the next one's lease.
pub(in crate::store) const EXTEND: &str = concat!(
    "UPDATE idempotency_outbox_events SET due_at = statement_timestamp() + interval '1 millisecond' * $4::bigint",
    held!()
);

/// Fenced by the token; in a handler's transaction the row lock is kept until the commit, so nobody takes the event
/// in between.
pub(in crate::store) const DELIVER: &str = concat!(
    "UPDATE idempotency_outbox_events SET delivered_to = delivered_to || $4, ",
    "status = CASE WHEN $5::boolean THEN 'delivered' ELSE status END, ",
    "completed_at = CASE WHEN $5::boolean THEN statement_timestamp() END",
    held!()
);

/// Fenced by the token, which it ends.
pub(in crate::store) const POSTPONE: &str = concat!(
    "UPDATE idempotency_outbox_events SET claim_id = NULL, last_error = $5, ",
    "deliveries = deliveries - CASE WHEN $6::boolean THEN 0 ELSE 1 END, ",
    "due_at = statement_timestamp() + interval '1 millisecond' * $4::bigint",
    held!()
);

/// Fenced by the token, which it ends.
pub(in crate::store) const GIVE_BACK: &str = concat!(
    "UPDATE idempotency_outbox_events SET claim_id = NULL, deliveries = deliveries - 1, ",
    "due_at = statement_timestamp()",
    held!()
);

/// Fenced by the event's token and by the mark of the transaction that `begin` began; the row locks are held until the
/// commit. $1 to $4 are the unique key of the record, which only one racer inserts.
pub(in crate::store) const SETTLE: &str = concat!(
    "WITH marked AS (UPDATE idempotency_outbox_events SET delivered_to = delivered_to || $25, ",
    "status = CASE WHEN $26::boolean THEN 'delivered' ELSE status END, ",
    "completed_at = CASE WHEN $26::boolean THEN statement_timestamp() END ",
    "WHERE sequence = $22 AND attempt = $23 AND claim_id = $24 AND status = 'pending' ",
    "AND current_setting('idem.claim', true) = $21 ",
    "RETURNING statement_timestamp() AS now, statement_timestamp() + interval '1 millisecond' * $11::bigint AS life_end) ",
    "INSERT INTO idempotency_records ",
    "(tenant_id, user_id, route, idempotency_key, request_hash, request_fields, claim_id, mode, on_lapse, ",
    "retry_failed, ttl_ms, lease_ms, wait_ms, max_run_ms, response_code, response_headers, ",
    "response_content_type, response_body, task_id, outbox_event_id, ",
    "status, attempt, revision, outcome_unknown, expires_at, sweep_after, created_at, updated_at, completed_at) ",
    "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, ",
    "'succeeded', 1, 1, false, life_end, life_end, now, now, now FROM marked ",
    "ON CONFLICT (tenant_id, user_id, route, idempotency_key) DO NOTHING"
);

/// Fenced by the token, which it ends.
pub(in crate::store) const BURY: &str = concat!(
    "UPDATE idempotency_outbox_events SET claim_id = NULL, status = 'dead', last_error = $4, ",
    "completed_at = statement_timestamp()",
    held!()
);

/// Where announcements are heard.
pub(in crate::store) const CHANNEL: &str = "idempotency_outbox_events";

/// In a transaction of its own: a NOTIFY makes all commits that have one wait for each other.
pub(in crate::store) const ANNOUNCE: &str = "SELECT pg_notify('idempotency_outbox_events', '')";

/// What is committed as it begins.
pub(in crate::store) const BY_ID: &str =
    concat!("SELECT ", columns!(), " FROM idempotency_outbox_events AS event WHERE event.event_id = $1");

/// One snapshot of the whole table, so that its counts belong together.
pub(in crate::store) const STATS: &str = "SELECT event_type, event_version, status, count(*) AS events, \
     min(created_at) AS oldest, statement_timestamp() AS now FROM idempotency_outbox_events \
     GROUP BY event_type, event_version, status ORDER BY event_type, event_version, status";

/// The status in the statement lets one operator through.
pub(in crate::store) const RETRY: &str = "UPDATE idempotency_outbox_events SET status = 'pending', \
     due_at = statement_timestamp(), deliveries = 0, completed_at = NULL WHERE event_id = $1 AND status = 'dead'";

/// An event under a lease has a holder, who says what becomes of it.
pub(in crate::store) const BURY_BY_HAND: &str = "UPDATE idempotency_outbox_events SET status = 'dead', \
     claim_id = NULL, last_error = $2, completed_at = statement_timestamp() WHERE event_id = $1 \
     AND status = 'pending' AND (claim_id IS NULL OR due_at <= statement_timestamp())";

/// Each row is judged after it has been locked; rows that somebody else deletes are skipped.
pub(in crate::store) const PURGE: &str = "DELETE FROM idempotency_outbox_events WHERE sequence = ANY(ARRAY(\
     SELECT sequence FROM idempotency_outbox_events WHERE status = 'delivered' \
     AND completed_at <= statement_timestamp() - interval '1 millisecond' * $1::bigint \
     ORDER BY completed_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED))";

/// What is committed as it begins.
pub(in crate::store) const PURGEABLE: &str = "SELECT count(*) AS events FROM idempotency_outbox_events \
     WHERE status = 'delivered' AND completed_at <= statement_timestamp() - interval '1 millisecond' * $1::bigint";
