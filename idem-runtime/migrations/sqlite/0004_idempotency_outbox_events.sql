-- Events that a body publishes in its own transaction, until a dispatcher has handed them to all handlers.
-- sequence gives the order within one aggregate. due_at is when a pending event may be taken: at once, after a
-- pause, or at the end of its lease. Moments are integers, microseconds since 1970-01-01 UTC.
-- attempt grows each time that an event is taken and fences its holder; deliveries counts those that may have failed.
CREATE TABLE idempotency_outbox_events (
    sequence      INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id      BLOB    NOT NULL UNIQUE,
    event_type    TEXT    NOT NULL,
    event_version INTEGER NOT NULL,
    tenant_id     TEXT    NOT NULL,
    user_id       TEXT    NOT NULL,
    aggregate_key TEXT,
    payload       TEXT    NOT NULL,
    headers       TEXT    NOT NULL,

    status        TEXT    NOT NULL CHECK (status IN ('pending', 'delivered', 'dead')),
    attempt       INTEGER NOT NULL,
    deliveries    INTEGER NOT NULL,
    claim_id      BLOB,
    due_at        INTEGER NOT NULL,
    delivered_to  TEXT    NOT NULL,
    last_error    TEXT,
    created_at    INTEGER NOT NULL,
    completed_at  INTEGER
) STRICT;

-- Only what is pending stands in these two, however many delivered events are kept.
CREATE INDEX idempotency_outbox_events_due ON idempotency_outbox_events (due_at, sequence)
    WHERE status = 'pending';
CREATE INDEX idempotency_outbox_events_order ON idempotency_outbox_events (tenant_id, aggregate_key, sequence)
    WHERE status = 'pending' AND aggregate_key IS NOT NULL;
-- For the purge.
CREATE INDEX idempotency_outbox_events_completed ON idempotency_outbox_events (completed_at)
    WHERE completed_at IS NOT NULL;
