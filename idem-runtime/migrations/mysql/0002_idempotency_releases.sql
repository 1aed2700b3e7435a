-- Who released a claim by hand, when and why; written in the transaction of the release, never changed.
-- The key is bytes and moments are integers, microseconds since 1970-01-01 UTC, as in idempotency_records.
CREATE TABLE idempotency_releases (
    id                    BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    tenant_id             VARBINARY(255) NOT NULL,
    user_id               VARBINARY(255) NOT NULL,
    route                 VARBINARY(255) NOT NULL,
    idempotency_key       VARBINARY(255) NOT NULL,
    attempt               BIGINT         NOT NULL,
    claim_id              BINARY(16)     NOT NULL,
    status_before         VARCHAR(16)    NOT NULL,
    outcome_was_unknown   BOOLEAN        NOT NULL,
    forced                BOOLEAN        NOT NULL,
    released_by           TEXT           NOT NULL,
    reason                TEXT           NOT NULL,
    released_at           BIGINT         NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
