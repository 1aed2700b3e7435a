//! The statements of the outbox. Those of a holder bind number, attempt and claim of the event last, and hand the
//! number to `LAST_INSERT_ID(n)`, which comes back with the reply: zero says that they touched no row.

use std::fmt::Write;
use std::time::Duration;

use uuid::Uuid;

use crate::store::outbox::event_columns;
use crate::store::row::AnswerColumns;
use crate::store::{Settlement, StoredEvent, millis};

pub(in crate::store) const COLUMNS: &str = event_columns!(now!());

/// Only the holder, and only while nobody has taken the event after it.
macro_rules! held {
    () => {
        concat!(
            ", sequence = LAST_INSERT_ID(sequence) ",
            "WHERE sequence = ? AND attempt = ? AND claim_id = ? AND status = 'pending'"
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
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', 0, 0, ",
    now!(),
    ", ' ', ",
    now!(),
    ")"
);

/// Read committed, as at higher levels the gaps would be locked as well, and publishers made to wait.
pub(in crate::store) const BEGIN_TAKE: &str =
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION";

/// Takers skip each other's rows and hold their own until they have taken them. Whether an earlier event of the
/// aggregate is pending is asked of what is committed, locked or not: one that is skipped holds its successors back
/// all the same.
pub(in crate::store) const DUE: &str = concat!(
    "SELECT ",
    event_columns!(now!()),
    " FROM idempotency_outbox_events AS event WHERE event.status = 'pending' AND event.due_at <= ",
    now!(),
    " AND (event.aggregate_key IS NULL OR NOT EXISTS (SELECT 1 FROM idempotency_outbox_events AS earlier ",
    "WHERE earlier.status = 'pending' AND earlier.tenant_id = event.tenant_id ",
    "AND earlier.aggregate_key = event.aggregate_key AND earlier.sequence < event.sequence)) ",
    "ORDER BY event.due_at, event.sequence LIMIT ? FOR UPDATE SKIP LOCKED"
);

/// Waits for a taker of the same rows instead of skipping them, which would take what comes behind them.
pub(in crate::store) const NEXT: &str = concat!(
    "SELECT ",
    event_columns!(now!()),
    " FROM idempotency_outbox_events AS event ",
    "WHERE event.status = 'pending' AND event.tenant_id = ? AND event.aggregate_key = ? ",
    "ORDER BY event.sequence LIMIT ? FOR UPDATE"
);

/// Takes rows that `DUE` or `NEXT` has locked in the same transaction. Only digits get into the text, as many numbers
/// as there are, which would make each a statement of its own to prepare.
pub(in crate::store) fn take(claim_id: Uuid, lease: Duration, locked: &[StoredEvent]) -> String {
    let numbers: Vec<_> = locked.iter().map(|event| event.sequence.to_string()).collect();
    format!(
        concat!(
            "UPDATE idempotency_outbox_events SET claim_id = X'{}', attempt = attempt + 1, ",
            "deliveries = deliveries + 1, due_at = ",
            now!(),
            " + 1000 * {} WHERE sequence IN ({})"
        ),
        claim_id.simple(),
        millis(lease),
        numbers.join(", ")
    )
}

/// Fenced by the token: a frozen holder cannot shorten or prolong the next one's lease.
pub(in crate::store) const EXTEND: &str =
    concat!("UPDATE idempotency_outbox_events SET due_at = ", now!(), " + 1000 * CAST(? AS SIGNED)", held!());

/// Fenced by the token; in a handler's transaction the row lock is kept until the commit, so nobody takes the event
/// in between.
pub(in crate::store) const DELIVER: &str = concat!(
    "UPDATE idempotency_outbox_events SET delivered_to = CONCAT(delivered_to, ?), ",
    "completed_at = IF(?, ",
    now!(),
    ", NULL), status = IF(?, 'delivered', status)",
    held!()
);

/// Fenced by the token, which it ends.
pub(in crate::store) const POSTPONE: &str = concat!(
    "UPDATE idempotency_outbox_events SET due_at = ",
    now!(),
    " + 1000 * CAST(? AS SIGNED), last_error = ?, deliveries = deliveries - IF(?, 0, 1), claim_id = NULL",
    held!()
);

/// Fenced by the token, which it ends.
pub(in crate::store) const GIVE_BACK: &str = concat!(
    "UPDATE idempotency_outbox_events SET claim_id = NULL, deliveries = deliveries - 1, due_at = ",
    now!(),
    held!()
);

/// All in one round trip: our savepoint must be there; the event is marked, fenced by its token; and the
/// record is inserted, which only one racer does, if the event was marked. Together they touch two rows.
///
/// Whatever is not a number is written in hexadecimal, so that nothing in it can be taken for SQL.
pub(in crate::store) fn settle(settlement: Settlement<'_>) -> String {
    let Settlement { event, mark, claim, answer, bindings } = settlement;
    let (terms, answer) = (&claim.terms, AnswerColumns::of(Some(answer)));
    let [tenant, user, route, key] = claim.key.columns().map(|column| hex(column.as_bytes()));
    let text = |text: &str| format!("_utf8mb4 {}", hex(text.as_bytes()));
    let optional = |value: Option<&str>| value.map_or("NULL".to_owned(), text);
    let code = answer.code.map_or("NULL".to_owned(), |code| code.to_string());
    format!(
        concat!(
            "RELEASE SAVEPOINT idem_claim; DO LAST_INSERT_ID(0); ",
            "UPDATE idempotency_outbox_events SET delivered_to = CONCAT(delivered_to, {handler}, ' '), ",
            "completed_at = IF({complete}, {now}, NULL), status = IF({complete}, 'delivered', status), ",
            "sequence = LAST_INSERT_ID(sequence) ",
            "WHERE sequence = {sequence} AND attempt = {attempt} AND claim_id = {claim} AND status = 'pending'; ",
            "INSERT INTO idempotency_records ",
            "(tenant_id, user_id, route, idempotency_key, request_hash, request_fields, claim_id, mode, on_lapse, ",
            "retry_failed, ttl_ms, lease_ms, wait_ms, max_run_ms, response_code, response_headers, ",
            "response_content_type, response_body, task_id, outbox_event_id, status, attempt, revision, ",
            "outcome_unknown, expires_at, sweep_after, created_at, updated_at, completed_at) ",
            "SELECT {tenant}, {user}, {route}, {key}, {hash}, {fields}, {record}, '{mode}', '{on_lapse}', ",
            "{retry_failed}, {ttl}, {lease}, {wait}, {max_run}, {code}, {headers}, {content_type}, {body}, {task}, ",
            "{bound}, 'succeeded', 1, 1, FALSE, {now} + 1000 * {ttl}, {now} + 1000 * {ttl}, {now}, {now}, {now} ",
            "FROM DUAL WHERE LAST_INSERT_ID() = {sequence}"
        ),
        now = now!(),
        tenant = tenant,
        user = user,
        route = route,
        key = key,
        code = code,
        handler = text(&mark.handler_key),
        complete = mark.complete,
        sequence = event.sequence,
        attempt = event.attempt,
        claim = hex(event.claim_id.as_bytes()),
        hash = text(&claim.request_hash),
        fields = optional(claim.request_fields.as_deref()),
        record = hex(claim.claim_id.as_bytes()),
        mode = terms.mode.as_str(),
        on_lapse = terms.on_lapse.as_str(),
        retry_failed = terms.retry_failed,
        ttl = millis(terms.ttl),
        lease = millis(terms.lease),
        wait = millis(terms.wait),
        max_run = millis(terms.max_run),
        headers = optional(answer.headers.as_deref()),
        content_type = optional(answer.content_type),
        body = answer.body.map_or("NULL".to_owned(), hex),
        task = optional(bindings.task_id.as_deref()),
        bound = optional(bindings.outbox_event_id.as_deref()),
    )
}

/// Bytes as a literal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("X'".to_owned(), |mut literal, byte| {
        let _ = write!(literal, "{byte:02x}");
        literal
    }) + "'"
}

/// Fenced by the token, which it ends.
pub(in crate::store) const BURY: &str = concat!(
    "UPDATE idempotency_outbox_events SET status = 'dead', last_error = ?, claim_id = NULL, completed_at = ",
    now!(),
    held!()
);

/// What is committed as it begins.
pub(in crate::store) const BY_ID: &str = concat!(
    "SELECT ",
    event_columns!(now!()),
    " FROM idempotency_outbox_events AS event WHERE event.event_id = ?"
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
    ", sequence = LAST_INSERT_ID(sequence) WHERE event_id = ? AND status = 'dead'"
);

/// An event under a lease has a holder, who says what becomes of it.
pub(in crate::store) const BURY_BY_HAND: &str = concat!(
    "UPDATE idempotency_outbox_events SET status = 'dead', last_error = ?, completed_at = ",
    now!(),
    ", sequence = LAST_INSERT_ID(sequence) WHERE event_id = ? AND status = 'pending' AND (claim_id IS NULL OR due_at <= ",
    now!(),
    ")"
);

/// State and time stand in the statement, which judges each row after it has locked it.
pub(in crate::store) const PURGE: &str = concat!(
    "DELETE FROM idempotency_outbox_events WHERE status = 'delivered' AND completed_at <= ",
    now!(),
    " - 1000 * CAST(? AS SIGNED) ORDER BY completed_at LIMIT ?"
);

/// What is committed as it begins.
pub(in crate::store) const PURGEABLE: &str = concat!(
    "SELECT count(*) AS events FROM idempotency_outbox_events WHERE status = 'delivered' AND completed_at <= ",
    now!(),
    " - 1000 * CAST(? AS SIGNED)"
);
