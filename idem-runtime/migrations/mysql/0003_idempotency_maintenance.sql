-- Who sweeps, and until when; one row, so that one process sweeps at a time. An empty table means: nobody yet.
-- Moments are integers, microseconds since 1970-01-01 UTC.
CREATE TABLE idempotency_maintenance (
    name                  VARBINARY(64) NOT NULL PRIMARY KEY,
    holder                BINARY(16)    NOT NULL,
    locked_until          BIGINT        NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
