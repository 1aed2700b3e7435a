//! The statements of the outbox. Those of a holder: ?1 to ?3 are number, attempt and claim of the event. SQLite runs
//! one writing statement at a time, so each is atomic as a whole.

use crate::store::outbox::event_columns;

pub(in crate::store) const COLUMNS: &str = event_columns!(now!());

/// Only the holder, and only while nobody has taken the event after it.
macro_rules! held {
    () => {
        " WHERE sequence = ?1 AND attempt = ?2 AND claim_id = ?3 AND status = 'pending'"
    };
}

/// How an event is taken.
macro_rules! take {
    ($which:expr) => {
        concat!(
            "UPDATE idempotency_outbox_events AS event SET claim_id = ?1, attempt = attempt + 1, ",
            "deliveries = deliveries + 1, due_at = ",
            now!(),
            " + ?2 * 1000 WHERE sequence IN (",
            $which,
            ") RETURNING ",
            // The alias of an UPDATE is not known in its RETURNING.
            "sequence, event_id, event_type, event_version, tenant_id, user_id, aggregate_key, payload, headers, ",
            "status, attempt, deliveries, claim_id, due_at, delivered_to, last_error, created_at, completed_at, ",
            now!(),
            " AS now"
        )
    };
}

/// Fails when the table or one of its columns is missing; reads no row.
pub(in crate::store) const PROBE: &str =
    concat!("SELECT ", event_columns!(now!()), " FROM idempotency_outbox_events AS event LIMIT 0");

/// In the body's transaction: nobody sees it before that commits.
pub(in crate::store) const PUBLISH: &str = concat!(
    "INSERT INTO idempotency_outbox_events (event_id, event_type, event_version, tenant_id, user_id, ",
    "aggregate_key, payload, headers, status, attempt, deliveries, due_at, delivered_to, created_at) ",
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'pending', 0, 0, ",
    now!(),
    ", ' ', ",
    now!(),
    ")"
);

/// No other writer is between the choice and the change.
pub(in crate::store) const TAKE: &str = take!(concat!(
    "SELECT due.sequence FROM idempotency_outbox_events AS due WHERE due.status = 'pending' AND due.due_at <= ",
    now!(),
    " AND (due.aggregate_key IS NULL OR NOT EXISTS (SELECT 1 FROM idempotency_outbox_events AS earlier ",
    "WHERE earlier.status = 'pending' AND earlier.tenant_id = due.tenant_id ",
    "AND earlier.aggregate_key = due.aggregate_key AND earlier.sequence < due.sequence)) ",
    "ORDER BY due.due_at, due.sequence LIMIT ?3"
));

/// No other writer is between the choice and the change. Nothing is taken behind an event that is not due.
pub(in crate::store) const TAKE_NEXT: &str = take!(concat!(
    "SELECT sequence FROM (SELECT sequence, max(due_at) OVER (ORDER BY sequence) AS due_at FROM ",
    "(SELECT due.sequence, due.due_at FROM idempotency_outbox_events AS due ",
    "WHERE due.status = 'pending' AND due.tenant_id = ?3 AND due.aggregate_key = ?4 ",
    "ORDER BY due.sequence LIMIT ?5)) WHERE due_at <= ",
    now!()
));

/// Fenced by the token: a frozen holder cannot shorten or prolong the next one's lease.
pub(in crate::store) const EXTEND: &str =
    concat!("UPDATE idempotency_outbox_events SET due_at = ", now!(), " + ?4 * 1000", held!());

/// Fenced by the token; in a handler's transaction it holds the only write lock until the commit.
pub(in crate::store) const DELIVER: &str = concat!(
    "UPDATE idempotency_outbox_events SET delivered_to = delivered_to || ?4, ",
    "status = CASE WHEN ?5 THEN 'delivered' ELSE status END, completed_at = CASE WHEN ?5 THEN ",
    now!(),
    " END",
    held!()
);

/// Fenced by the token, which it ends.
pub(in crate::store) const POSTPONE: &str = concat!(
    "UPDATE idempotency_outbox_events SET claim_id = NULL, last_error = ?5, ",
    "deliveries = deliveries - CASE WHEN ?6 THEN 0 ELSE 1 END, due_at = ",
    now!(),
    " + ?4 * 1000",
    held!()
);

/// Fenced by the token, which it ends.
pub(in crate::store) const GIVE_BACK: &str = concat!(
    "UPDATE idempotency_outbox_events SET claim_id = NULL, deliveries = deliveries - 1, due_at = ",
    now!(),
    held!()
);

/// The record of a delivery whose event has been marked in the same transaction; where there is one, it writes nothing.
pub(in crate::store) const RECORD: &str = concat!(
    "INSERT INTO idempotency_records ",
    "(tenant_id, user_id, route, idempotency_key, request_hash, request_fields, claim_id, lease_ms, mode, on_lapse, ",
    "retry_failed, ttl_ms, wait_ms, max_run_ms, response_code, response_headers, response_content_type, ",
    "response_body, task_id, outbox_event_id, status, attempt, revision, outcome_unknown, expires_at, sweep_after, ",
    "created_at, updated_at, completed_at) ",
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ",
    "'succeeded', 1, 1, 0, ",
    now!(),
    " + ?12 * 1000, ",
    now!(),
    " + ?12 * 1000, ",
    now!(),
    ", ",
    now!(),
    ", ",
    now!(),
    ") ON CONFLICT (tenant_id, user_id, route, idempotency_key) DO NOTHING"
);

/// Fenced by the token, which it ends.
pub(in crate::store) const BURY: &str = concat!(
    "UPDATE idempotency_outbox_events SET claim_id = NULL, status = 'dead', last_error = ?4, completed_at = ",
    now!(),
    held!()
);

/// What is committed as it begins.
pub(in crate::store) const BY_ID: &str = concat!(
    "SELECT ",
    event_columns!(now!()),
    " FROM idempotency_outbox_events AS event WHERE event.event_id = ?1"
);

/// One snapshot of the whole table, so that its counts belong together.
pub(in crate::store) const STATS: &str = concat!(
    "SELECT event_type, event_version, status, count(*) AS events, min(created_at) AS oldest, ",
    now!(),
    " AS now FROM idempotency_outbox_events GROUP BY event_type, event_version, status ",
    "ORDER BY event_type, event_version, status"
);

/// The status in the statement lets one operator through.
pub(in crate::store) const RETRY: &str = concat!(
    "UPDATE idempotency_outbox_events SET status = 'pending', deliveries = 0, completed_at = NULL, due_at = ",
    now!(),
    " WHERE event_id = ?1 AND status = 'dead'"
);

/// An event under a lease has a holder, who says what becomes of it.
pub(in crate::store) const BURY_BY_HAND: &str = concat!(
    "UPDATE idempotency_outbox_events SET status = 'dead', claim_id = NULL, last_error = ?2, completed_at = ",
    now!(),
    " WHERE event_id = ?1 AND status = 'pending' AND (claim_id IS NULL OR due_at <= ",
    now!(),
    ")"
);

/// No other writer is between the choice and the change.
pub(in crate::store) const PURGE: &str = concat!(
    "DELETE FROM idempotency_outbox_events WHERE sequence IN (SELECT sequence FROM idempotency_outbox_events ",
    "WHERE status = 'delivered' AND completed_at <= ",
    now!(),
    " - ?1 * 1000 ORDER BY completed_at LIMIT ?2)"
);

/// What is committed as it begins.
pub(in crate::store) const PURGEABLE: &str = concat!(
    "SELECT count(*) AS events FROM idempotency_outbox_events WHERE status = 'delivered' AND completed_at <= ",
    now!(),
    " - ?1 * 1000"
);
