-- Who released a claim by hand, when and why; written in the transaction of the release, never changed.
CREATE TABLE idempotency_releases (
    id                    bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id             text        COLLATE "C" NOT NULL,
    user_id               text        COLLATE "C" NOT NULL,
    route                 text        COLLATE "C" NOT NULL,
    idempotency_key       text        COLLATE "C" NOT NULL,
    attempt               bigint      NOT NULL,
    claim_id              uuid        NOT NULL,
    status_before         text        COLLATE "C" NOT NULL,
    outcome_was_unknown   boolean     NOT NULL,
    forced                boolean     NOT NULL,
    released_by           text        NOT NULL,
    reason                text        NOT NULL,
    released_at           timestamptz NOT NULL
);
