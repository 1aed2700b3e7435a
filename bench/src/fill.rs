//! Many records at once, written by the database itself.

use std::fmt::Write;

use crate::Error;
use crate::work::Work;

/// What differs between the databases.
pub(crate) struct Dialect {
    pub(crate) name: &'static str,
    /// How many records one statement writes at most.
    chunk: u64,
    /// The numbers from `{from}` up to, and without, `{to}`, as rows of one column `n`.
    numbers: &'static str,
    /// `{n}` as eight hex digits in lower case.
    hex: &'static str,
    /// Now and `{hours}` hours.
    moment: &'static str,
    claim_id: &'static str,
    body: &'static str,
    /// What makes a filled table ready to be measured.
    settle: &'static [&'static str],
}

pub(crate) const SQLITE: Dialect = Dialect {
    name: "sqlite",
    chunk: 1_000_000,
    numbers: "WITH RECURSIVE s(n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM s WHERE n + 1 < {to}) \
              SELECT n FROM s",
    hex: "printf('%08x', {n})",
    moment: "(unixepoch() + {hours} * 3600) * 1000000",
    claim_id: "zeroblob(16)",
    body: "CAST('\"ordered\"' AS BLOB)",
    settle: &["PRAGMA wal_checkpoint(TRUNCATE)"],
};

pub(crate) const POSTGRES: Dialect = Dialect {
    name: "postgres",
    chunk: 1_000_000,
    numbers: "SELECT n FROM generate_series({from}::bigint, {to} - 1) AS s(n)",
    hex: "lpad(to_hex({n}), 8, '0')",
    moment: "statement_timestamp() + interval '1 hour' * {hours}",
    claim_id: "gen_random_uuid()",
    body: "convert_to('\"ordered\"', 'UTF8')",
    settle: &["VACUUM (ANALYZE) idempotency_records", "CHECKPOINT"],
};

pub(crate) const MYSQL: Dialect = Dialect {
    name: "mysql",
    // As many rows as a recursion may have by default.
    chunk: 1000,
    numbers: "WITH RECURSIVE s(n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM s WHERE n + 1 < {to}) \
              SELECT n FROM s",
    hex: "LOWER(LPAD(HEX({n}), 8, '0'))",
    moment: "(UNIX_TIMESTAMP() + {hours} * 3600) * 1000000",
    claim_id: "UNHEX(REPEAT('00', 16))",
    body: "'\"ordered\"'",
    settle: &["ANALYZE TABLE idempotency_records"],
};

/// The key of record `number` of `count`: they lie evenly among all keys, in the order of their numbers.
pub(crate) fn key(number: u64, count: u64) -> String {
    format!("{:08x}{:024}", number * stride(count), 0)
}

fn stride(count: u64) -> u64 {
    (1 << 32) / count
}

/// Writes `count` succeeded records whose lives end in so many `hours`, with keys of their own `series`.
pub(crate) async fn fill(
    work: &impl Work,
    count: u64,
    hours: i32,
    hash: &str,
    user: &str,
) -> Result<(), Error> {
    let dialect = work.dialect();
    let moment = |hours: i32| dialect.moment.replace("{hours}", &hours.to_string());
    let mut from = 0;
    while from < count {
        let to = count.min(from + dialect.chunk);
        let numbers = dialect.numbers.replace("{from}", &from.to_string()).replace("{to}", &to.to_string());
        let hex = dialect.hex.replace("{n}", &format!("n * {}", stride(count)));
        let mut sql = String::from(
            "INSERT INTO idempotency_records (tenant_id, user_id, route, idempotency_key, request_hash, status, \
             attempt, claim_id, revision, expires_at, response_code, response_content_type, response_body, mode, \
             on_lapse, retry_failed, ttl_ms, lease_ms, wait_ms, max_run_ms, outcome_unknown, created_at, \
             updated_at, completed_at, sweep_after) SELECT 'acme', ",
        );
        let concat = if dialect.name == "mysql" {
            format!("CONCAT({hex}, REPEAT('0', 24))")
        } else {
            format!("{hex} || '{:024}'", 0)
        };
        let lie = if dialect.name == "postgres" { "false" } else { "0" };
        let (claim_id, body) = (dialect.claim_id, dialect.body);
        let (created, end) = (moment(hours - 24), moment(hours));
        write!(
            sql,
            "'{user}', 'orders.create', {concat}, '{hash}', 'succeeded', 1, {claim_id}, 2, {end}, 200, \
             'application/json', {body}, 'transactional', 'rerun', {lie}, 86400000, 30000, 0, 900000, {lie}, \
             {created}, {created}, {created}, {end} FROM ({numbers}) AS numbers"
        )?;
        work.execute(&sql).await?;
        from = to;
    }
    Ok(())
}

/// Makes a filled table ready to be measured.
pub(crate) async fn settle(work: &impl Work) -> Result<(), Error> {
    for statement in work.dialect().settle {
        work.execute(statement).await?;
    }
    Ok(())
}
