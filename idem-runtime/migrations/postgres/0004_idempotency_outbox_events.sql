-- Events that a body publishes in its own transaction, until a dispatcher has handed them to all handlers.
-- sequence gives the order within one aggregate; it is no position that a reader moves along, so an event whose
-- transaction commits late is found all the same.
-- due_at is when a pending event may be taken: at once, after a pause, or at the end of its lease.
-- attempt grows each time that an event is taken and fences its holder; deliveries counts those that may have failed.
CREATE TABLE idempotency_outbox_events (
    sequence      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id      uuid        NOT NULL UNIQUE,
    event_type    text        COLLATE "C" NOT NULL,
    event_version bigint      NOT NULL,
    tenant_id     text        COLLATE "C" NOT NULL,
    user_id       text        COLLATE "C" NOT NULL,
    aggregate_key text        COLLATE "C",
    payload       text        NOT NULL,
    headers       text        NOT NULL,

    status        text        COLLATE "C" NOT NULL,
    attempt       bigint      NOT NULL,
    deliveries    bigint      NOT NULL,
    claim_id      uuid,
    due_at        timestamptz NOT NULL,
    delivered_to  text        COLLATE "C" NOT NULL,
    last_error    text,
    created_at    timestamptz NOT NULL,
    completed_at  timestamptz
);

-- Only what is pending stands in these two, however many delivered events are kept.
CREATE INDEX idempotency_outbox_events_due ON idempotency_outbox_events (due_at, sequence)
    WHERE status = 'pending';
CREATE INDEX idempotency_outbox_events_order ON idempotency_outbox_events (tenant_id, aggregate_key, sequence)
    WHERE status = 'pending' AND aggregate_key IS NOT NULL;
-- For the purge.
CREATE INDEX idempotency_outbox_events_completed ON idempotency_outbox_events (completed_at)
    WHERE completed_at IS NOT NULL;
