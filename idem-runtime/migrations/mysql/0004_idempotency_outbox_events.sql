-- Events that a body publishes in its own transaction, until a dispatcher has handed them to all handlers.
-- sequence gives the order within one aggregate; it is no position that a reader moves along, so an event whose
-- transaction commits late is found all the same.
-- due_at is when a pending event may be taken: at once, after a pause, or at the end of its lease.
-- attempt grows each time that an event is taken and fences its holder; deliveries counts those that may have failed.
CREATE TABLE idempotency_outbox_events (
    sequence      BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    event_id      BINARY(16)     NOT NULL,
    event_type    VARBINARY(255) NOT NULL,
    event_version BIGINT         NOT NULL,
    tenant_id     VARBINARY(255) NOT NULL,
    user_id       VARBINARY(255) NOT NULL,
    aggregate_key VARBINARY(255),
    payload       LONGTEXT       NOT NULL,
    headers       MEDIUMTEXT     NOT NULL,

    status        VARCHAR(16)    NOT NULL,
    attempt       BIGINT         NOT NULL,
    deliveries    BIGINT         NOT NULL,
    claim_id      BINARY(16),
    due_at        BIGINT         NOT NULL,
    delivered_to  TEXT           NOT NULL,
    last_error    TEXT,
    created_at    BIGINT         NOT NULL,
    completed_at  BIGINT,

    UNIQUE KEY idempotency_outbox_events_id (event_id),
    KEY idempotency_outbox_events_due (status, due_at, sequence),
    KEY idempotency_outbox_events_order (tenant_id, aggregate_key, status, sequence),
    KEY idempotency_outbox_events_completed (completed_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
