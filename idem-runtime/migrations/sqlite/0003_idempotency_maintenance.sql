-- Who sweeps, and until when; one row, so that one process sweeps at a time. An empty table means: nobody yet.
-- Moments are integers, microseconds since 1970-01-01 UTC.
CREATE TABLE idempotency_maintenance (
    name                  TEXT    NOT NULL PRIMARY KEY,
    holder                BLOB    NOT NULL CHECK (length(holder) = 16),
    locked_until          INTEGER NOT NULL
) STRICT;
