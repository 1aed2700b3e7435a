-- Who released a claim by hand, when and why; written in the transaction of the release, never changed.
-- Moments are integers, microseconds since 1970-01-01 UTC.
CREATE TABLE idempotency_releases (
    id                    INTEGER PRIMARY KEY,
    tenant_id             TEXT    NOT NULL,
    user_id               TEXT    NOT NULL,
    route                 TEXT    NOT NULL,
    idempotency_key       TEXT    NOT NULL,
    attempt               INTEGER NOT NULL,
    claim_id              BLOB    NOT NULL,
    status_before         TEXT    NOT NULL,
    outcome_was_unknown   INTEGER NOT NULL CHECK (outcome_was_unknown IN (0, 1)),
    forced                INTEGER NOT NULL CHECK (forced IN (0, 1)),
    released_by           TEXT    NOT NULL,
    reason                TEXT    NOT NULL,
    released_at           INTEGER NOT NULL
) STRICT;
