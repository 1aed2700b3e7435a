-- How many answers each route gave on each day (UTC), as far as guards with a maintenance have written them down.
CREATE TABLE idempotency_traffic (
    day                   DATE           NOT NULL,
    route                 VARBINARY(255) NOT NULL,
    executed              BIGINT         NOT NULL,
    replayed              BIGINT         NOT NULL,
    PRIMARY KEY (day, route)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
