-- One row per operation that a client asked for: unique on tenant, user, route and key.
-- Only the unique key and sweep_after are indexed. sweep_after is set by a claim, as the earliest end that the
-- record's life can have; whatever changes while a request runs stays out of every index, also out of partial
-- ones, so that each update stays on its page.
-- One CHECK alone: PostgreSQL reads the expressions of all CHECKs anew for each statement, and thirty of them
-- cost more than the statement itself. The runtime holds the rest, and the tests add them all.
CREATE TABLE idempotency_records (
    tenant_id             text        COLLATE "C" NOT NULL,
    user_id               text        COLLATE "C" NOT NULL,
    route                 text        COLLATE "C" NOT NULL,
    idempotency_key       text        COLLATE "C" NOT NULL,

    request_hash          text        COLLATE "C" NOT NULL,
    request_fields        text        COLLATE "C",

    status                text        COLLATE "C" NOT NULL,
    attempt               bigint      NOT NULL,
    claim_id              uuid        NOT NULL,
    revision              bigint      NOT NULL,
    locked_until          timestamptz,
    expires_at            timestamptz NOT NULL,

    response_code         integer,
    response_headers      text,
    response_content_type text,
    response_body         bytea,
    task_id               text,
    outbox_event_id       text,

    mode                  text        COLLATE "C" NOT NULL,
    on_lapse              text        COLLATE "C" NOT NULL,
    retry_failed          boolean     NOT NULL,
    ttl_ms                bigint      NOT NULL,
    lease_ms              bigint      NOT NULL,
    wait_ms               bigint      NOT NULL,
    max_run_ms            bigint      NOT NULL,

    outcome_unknown       boolean     NOT NULL,
    released_at           timestamptz,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    completed_at          timestamptz,
    sweep_after           timestamptz NOT NULL,

    CONSTRAINT idempotency_records_pkey
        PRIMARY KEY (tenant_id, user_id, route, idempotency_key),
    CONSTRAINT idempotency_records_lease
        CHECK ((status = 'processing') = (locked_until IS NOT NULL))
);

CREATE INDEX idempotency_records_sweep_after ON idempotency_records (sweep_after);
