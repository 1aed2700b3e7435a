-- One row per operation that a client asked for: unique on tenant, user, route and key.
-- The CHECKs refuse rows that no sequence of claims, completions and releases can produce.
-- Moments are integers, microseconds since 1970-01-01 UTC, so that their order is numeric.
CREATE TABLE idempotency_records (
    tenant_id             TEXT    NOT NULL CHECK (length(CAST(tenant_id AS BLOB)) BETWEEN 1 AND 255),
    user_id               TEXT    NOT NULL CHECK (length(CAST(user_id AS BLOB)) BETWEEN 1 AND 255),
    route                 TEXT    NOT NULL CHECK (length(CAST(route AS BLOB)) BETWEEN 1 AND 255),
    idempotency_key       TEXT    NOT NULL CHECK (length(CAST(idempotency_key AS BLOB)) BETWEEN 1 AND 255),

    request_hash          TEXT    NOT NULL CHECK (length(CAST(request_hash AS BLOB)) BETWEEN 1 AND 255),
    request_fields        TEXT,

    status                TEXT    NOT NULL
                          CHECK (status IN ('processing', 'succeeded', 'failed', 'expired')),
    attempt               INTEGER NOT NULL CHECK (attempt >= 1),
    claim_id              BLOB    NOT NULL CHECK (length(claim_id) = 16),
    revision              INTEGER NOT NULL CHECK (revision >= 1),
    locked_until          INTEGER,
    expires_at            INTEGER NOT NULL,

    response_code         INTEGER CHECK (response_code BETWEEN 100 AND 999),
    response_headers      TEXT,
    response_content_type TEXT,
    response_body         BLOB,
    task_id               TEXT    CHECK (length(CAST(task_id AS BLOB)) BETWEEN 1 AND 255),
    outbox_event_id       TEXT    CHECK (length(CAST(outbox_event_id AS BLOB)) BETWEEN 1 AND 255),

    mode                  TEXT    NOT NULL CHECK (mode IN ('transactional', 'external')),
    on_lapse              TEXT    NOT NULL CHECK (on_lapse IN ('rerun', 'recover', 'refuse')),
    retry_failed          INTEGER NOT NULL CHECK (retry_failed IN (0, 1)),
    ttl_ms                INTEGER NOT NULL CHECK (ttl_ms > 0),
    lease_ms              INTEGER NOT NULL CHECK (lease_ms > 0),
    wait_ms               INTEGER NOT NULL CHECK (wait_ms >= 0),
    max_run_ms            INTEGER NOT NULL CHECK (max_run_ms > 0),

    outcome_unknown       INTEGER NOT NULL CHECK (outcome_unknown IN (0, 1)),
    released_at           INTEGER,
    created_at            INTEGER NOT NULL,
    updated_at            INTEGER NOT NULL,
    completed_at          INTEGER,
    -- The earliest end that the life of this attempt can have; set by the claim, so that no later change
    -- touches an index.
    sweep_after           INTEGER NOT NULL,

    CONSTRAINT idempotency_records_pkey
        UNIQUE (tenant_id, user_id, route, idempotency_key),
    CONSTRAINT idempotency_records_lease
        CHECK ((status = 'processing') = (locked_until IS NOT NULL)),
    CONSTRAINT idempotency_records_life
        CHECK (locked_until IS NULL OR locked_until <= expires_at),
    CONSTRAINT idempotency_records_sweep
        CHECK (sweep_after <= expires_at),
    CONSTRAINT idempotency_records_succeeded
        CHECK (status <> 'succeeded' OR (response_code IS NOT NULL AND completed_at IS NOT NULL)),
    CONSTRAINT idempotency_records_failed
        CHECK (status <> 'failed' OR completed_at IS NOT NULL),
    CONSTRAINT idempotency_records_processing
        CHECK (status <> 'processing' OR (response_code IS NULL AND completed_at IS NULL)),
    CONSTRAINT idempotency_records_answer
        CHECK (response_code IS NOT NULL OR
               (response_headers IS NULL AND response_content_type IS NULL AND response_body IS NULL)),
    CONSTRAINT idempotency_records_released
        CHECK (released_at IS NULL OR (status IN ('failed', 'expired') AND response_code IS NULL)),
    CONSTRAINT idempotency_records_unknown
        CHECK (NOT outcome_unknown OR status = 'processing'),
    CONSTRAINT idempotency_records_terms
        CHECK (mode = 'external' OR on_lapse = 'rerun')
) STRICT;

CREATE INDEX idempotency_records_sweep_after ON idempotency_records (sweep_after);
