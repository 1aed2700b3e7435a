-- How many answers each route gave on each day (UTC), as far as guards with a maintenance have written them down.
CREATE TABLE idempotency_traffic (
    day                   date        NOT NULL,
    route                 text        COLLATE "C" NOT NULL,
    executed              bigint      NOT NULL,
    replayed              bigint      NOT NULL,
    PRIMARY KEY (day, route)
);
