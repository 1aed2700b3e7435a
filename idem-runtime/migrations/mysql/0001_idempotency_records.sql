-- One row per operation that a client asked for: unique on tenant, user, route and key.
-- The four are bytes, so that letter case, accents and trailing blanks stay distinct under any collation; they
-- hold UTF-8, at most 255 bytes each, which together stays below the limit of an InnoDB index.
-- Moments are integers, microseconds since 1970-01-01 UTC, so that no session's time zone can bend them.
-- Only the unique key and sweep_after are indexed. sweep_after is set by a claim, as the earliest end that the
-- record's life can have, so that no later change touches an index.
CREATE TABLE idempotency_records (
    tenant_id             VARBINARY(255) NOT NULL,
    user_id               VARBINARY(255) NOT NULL,
    route                 VARBINARY(255) NOT NULL,
    idempotency_key       VARBINARY(255) NOT NULL,

    request_hash          VARCHAR(255) NOT NULL,
    request_fields        MEDIUMTEXT,

    status                VARCHAR(16)  NOT NULL,
    attempt               BIGINT       NOT NULL,
    claim_id              BINARY(16)   NOT NULL,
    revision              BIGINT       NOT NULL,
    locked_until          BIGINT,
    expires_at            BIGINT       NOT NULL,

    response_code         INT,
    response_headers      MEDIUMTEXT,
    response_content_type TEXT,
    response_body         LONGBLOB,
    task_id               VARCHAR(255),
    outbox_event_id       VARCHAR(255),

    mode                  VARCHAR(16)  NOT NULL,
    on_lapse              VARCHAR(16)  NOT NULL,
    retry_failed          BOOLEAN      NOT NULL,
    ttl_ms                BIGINT       NOT NULL,
    lease_ms              BIGINT       NOT NULL,
    wait_ms               BIGINT       NOT NULL,
    max_run_ms            BIGINT       NOT NULL,

    outcome_unknown       BOOLEAN      NOT NULL,
    released_at           BIGINT,
    created_at            BIGINT       NOT NULL,
    updated_at            BIGINT       NOT NULL,
    completed_at          BIGINT,
    sweep_after           BIGINT       NOT NULL,

    PRIMARY KEY (tenant_id, user_id, route, idempotency_key),
    KEY idempotency_records_sweep_after (sweep_after),
    CONSTRAINT idempotency_records_lease
        CHECK ((status = 'processing') = (locked_until IS NOT NULL))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
