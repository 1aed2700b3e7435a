-- Who sweeps, and until when; one row, so that one process sweeps at a time. An empty table means: nobody yet.
CREATE TABLE idempotency_maintenance (
    name                  text        COLLATE "C" NOT NULL PRIMARY KEY,
    holder                uuid        NOT NULL,
    locked_until          timestamptz NOT NULL
);
