-- How many answers each route gave on each day (UTC), as far as guards with a maintenance have written them down.
CREATE TABLE idempotency_traffic (
    day                   TEXT    NOT NULL CHECK (day = date(day)),
    route                 TEXT    NOT NULL CHECK (length(CAST(route AS BLOB)) BETWEEN 1 AND 255),
    executed              INTEGER NOT NULL CHECK (executed >= 0),
    replayed              INTEGER NOT NULL CHECK (replayed >= 0),
    PRIMARY KEY (day, route)
) STRICT, WITHOUT ROWID;
