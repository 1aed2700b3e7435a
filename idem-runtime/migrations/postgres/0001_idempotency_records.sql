-- One row per operation that a client asked for: unique on tenant, user, route and key.
-- The CHECKs refuse rows that no sequence of claims, completions and releases can produce.
-- Only the unique key and expires_at are indexed: whatever changes while a request runs stays out of every
-- index, also out of partial ones, so that each update stays on its page.
CREATE TABLE idempotency_records (
    tenant_id             text        COLLATE "C" NOT NULL CHECK (octet_length(tenant_id) BETWEEN 1 AND 255),
    user_id               text        COLLATE "C" NOT NULL CHECK (octet_length(user_id) BETWEEN 1 AND 255),
    route                 text        COLLATE "C" NOT NULL CHECK (octet_length(route) BETWEEN 1 AND 255),
    idempotency_key       text        COLLATE "C" NOT NULL CHECK (octet_length(idempotency_key) BETWEEN 1 AND 255),

    request_hash          text        COLLATE "C" NOT NULL CHECK (octet_length(request_hash) BETWEEN 1 AND 255),
    request_fields        text        COLLATE "C",

    status                text        COLLATE "C" NOT NULL
                          CHECK (status IN ('processing', 'succeeded', 'failed', 'expired')),
    attempt               bigint      NOT NULL CHECK (attempt >= 1),
    claim_id              uuid        NOT NULL,
    revision              bigint      NOT NULL CHECK (revision >= 1),
    locked_until          timestamptz,
    expires_at            timestamptz NOT NULL,

    response_code         integer     CHECK (response_code BETWEEN 100 AND 999),
    response_headers      text,
    response_content_type text,
    response_body         bytea,
    task_id               text        CHECK (octet_length(task_id) BETWEEN 1 AND 255),
    outbox_event_id       text        CHECK (octet_length(outbox_event_id) BETWEEN 1 AND 255),

    mode                  text        COLLATE "C" NOT NULL CHECK (mode IN ('transactional', 'external')),
    on_lapse              text        COLLATE "C" NOT NULL CHECK (on_lapse IN ('rerun', 'recover', 'refuse')),
    retry_failed          boolean     NOT NULL,
    ttl_ms                bigint      NOT NULL CHECK (ttl_ms > 0),
    lease_ms              bigint      NOT NULL CHECK (lease_ms > 0),
    wait_ms               bigint      NOT NULL CHECK (wait_ms >= 0),
    max_run_ms            bigint      NOT NULL CHECK (max_run_ms > 0),

    outcome_unknown       boolean     NOT NULL,
    released_at           timestamptz,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    completed_at          timestamptz,

    CONSTRAINT idempotency_records_pkey
        PRIMARY KEY (tenant_id, user_id, route, idempotency_key),
    CONSTRAINT idempotency_records_lease
        CHECK ((status = 'processing') = (locked_until IS NOT NULL)),
    CONSTRAINT idempotency_records_life
        CHECK (locked_until IS NULL OR locked_until <= expires_at),
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
);

CREATE INDEX idempotency_records_expires_at ON idempotency_records (expires_at);
