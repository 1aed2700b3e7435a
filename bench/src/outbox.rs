//! Events per second of a dispatcher against a bare loop, and how a long backlog drains.

use std::sync::Arc;
use std::time::{Duration, Instant};

use idem_runtime::Error as IdemError;
use idem_runtime::outbox::{Delivery, Dispatcher};
use idem_runtime::outbox_handler;
use serde::Deserialize;
use sqlx::AssertSqlSafe;
use tokio::sync::Semaphore;

use crate::measure::quantile;
use crate::work::{self, ORDER};
use crate::{Error, Options};

/// Deliveries at once, and workers of the bare loop.
const WORKERS: u32 = 16;

#[derive(Debug, Deserialize)]
struct Ordered {
    #[expect(dead_code, reason = "parsed, as every handler's payload is")]
    sku: String,
}

#[outbox_handler(event = "bench.ordered", version = 1, handler_key = "order-on-sqlite")]
async fn on_sqlite(
    _: &Delivery<Ordered>,
    mutation: &mut idem_runtime::sqlite::Mutation,
) -> Result<(), IdemError> {
    sqlx::query(ORDER).execute(&mut **mutation).await.map_err(|_| IdemError::Lost)?;
    Ok(())
}

#[outbox_handler(event = "bench.ordered", version = 1, handler_key = "order-on-postgres")]
async fn on_postgres(
    _: &Delivery<Ordered>,
    mutation: &mut idem_runtime::postgres::Mutation,
) -> Result<(), IdemError> {
    sqlx::query(ORDER).execute(&mut **mutation).await.map_err(|_| IdemError::Lost)?;
    Ok(())
}

#[outbox_handler(event = "bench.ordered", version = 1, handler_key = "order-on-mysql")]
async fn on_mysql(
    _: &Delivery<Ordered>,
    mutation: &mut idem_runtime::mysql::Mutation,
) -> Result<(), IdemError> {
    sqlx::query(ORDER).execute(&mut **mutation).await.map_err(|_| IdemError::Lost)?;
    Ok(())
}

pub(crate) async fn run(options: &Options, backlog: u64) -> Result<(), Error> {
    if options.has("sqlite") {
        let folder = tempfile::tempdir()?;
        let pool = work::pool_on_sqlite(&folder.path().join("outbox.sqlite"), 2 * WORKERS + 4).await?;
        sqlite::measure(options, backlog, pool).await?;
    }
    if let Some(url) = options.postgres.as_ref().filter(|_| options.has("postgres")) {
        postgres::measure(options, backlog, work::pool_on_postgres(url, 2 * WORKERS + 4).await?).await?;
    }
    if let Some(url) = options.mysql.as_ref().filter(|_| options.has("mysql")) {
        mysql::measure(options, backlog, work::pool_on_mysql(url, 2 * WORKERS + 4).await?).await?;
    }
    Ok(())
}

fn rate(count: u64, time: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a count of events")]
    let count = count as f64;
    count / time.as_secs_f64()
}

macro_rules! on {
    ($module:ident, $database:ty, $numbers:literal, $concat:literal, $uuid:literal, $now:literal, $settle:literal, $chunk:literal, $begin:literal, $take:literal, $writers:expr) => {
        mod $module {
            use super::*;

            type Guard = idem_runtime::$module::Guard;

            pub(super) async fn measure(
                options: &Options,
                backlog: u64,
                pool: sqlx::Pool<$database>,
            ) -> Result<(), Error> {
                let guard = Guard::builder(pool).migrate().build().await?;
                let plain = "CREATE TABLE plain_events (id BIGINT PRIMARY KEY, payload TEXT NOT NULL)";
                execute(&guard, plain).await?;
                let (count, pairs, backlog) = if options.quick { (200, 2, 1000) } else { (4000, 9, backlog) };
                against_the_bare_loop(&guard, count, pairs).await?;
                drain(&guard, "many aggregates", backlog, 1000).await?;
                drain(&guard, "one aggregate", backlog / 20, 1).await
            }

            async fn against_the_bare_loop(guard: &Guard, count: u64, pairs: usize) -> Result<(), Error> {
                let dispatcher =
                    Dispatcher::builder(guard.clone()).concurrency(WORKERS as usize).build().await?;
                let (mut ratios, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
                // The first pair warms up.
                for pair in 0..=pairs {
                    fill(guard, count, None).await?;
                    let mut from = 0;
                    while from < count {
                        let to = count.min(from + $chunk);
                        let rows = numbers(from, to, "n, '{\"sku\":\"book\"}'");
                        execute(guard, &format!("INSERT INTO plain_events {rows}")).await?;
                        from = to;
                    }
                    let begin = Instant::now();
                    let done = dispatcher.deliver_due().await?;
                    let our_rate = rate(done.delivered, begin.elapsed());
                    let begin = Instant::now();
                    // Writers of SQLite take turns without the guard too, or it would be measured against lock errors.
                    let turns = Arc::new(Semaphore::new($writers));
                    let workers: Vec<_> =
                        (0..WORKERS).map(|_| tokio::spawn(bare(guard.clone(), Arc::clone(&turns)))).collect();
                    let mut done = 0;
                    for worker in workers {
                        done += worker.await??;
                    }
                    let their_rate = rate(done, begin.elapsed());
                    if pair > 0 {
                        ratios.push(our_rate / their_rate);
                        ours.push(our_rate);
                        theirs.push(their_rate);
                    }
                }
                let (low, high) = (quantile(&mut ratios, 1), quantile(&mut ratios, 3));
                println!(
                    "{:<9} {count} events: {:.0}/s by the dispatcher, {:.0}/s by the bare loop, ratio {:.2} ({low:.2} to {high:.2}, {pairs} pairs)",
                    stringify!($module),
                    quantile(&mut ours, 2),
                    quantile(&mut theirs, 2),
                    quantile(&mut ratios, 2),
                );
                Ok(())
            }

            /// Takes, carries out and deletes until nothing is left: what a hand-written worker does for each event.
            async fn bare(guard: Guard, turns: Arc<Semaphore>) -> Result<u64, Error> {
                let mut done = 0;
                loop {
                    let _turn = turns.acquire().await?;
                    let mut transaction = guard.pool().begin_with($begin).await?;
                    let next: Option<(i64, String)> =
                        sqlx::query_as($take).fetch_optional(&mut *transaction).await?;
                    let Some((id, payload)) = next else { return Ok(done) };
                    let _: Ordered = serde_json::from_str(&payload)?;
                    sqlx::query(ORDER).execute(&mut *transaction).await?;
                    let delete = AssertSqlSafe(format!("DELETE FROM plain_events WHERE id = {id}"));
                    sqlx::raw_sql(delete).execute(&mut *transaction).await?;
                    transaction.commit().await?;
                    done += 1;
                }
            }

            /// Drains a backlog that is there at once, and gives the rate of each tenth of it.
            async fn drain(guard: &Guard, what: &str, count: u64, aggregates: u64) -> Result<(), Error> {
                fill(guard, count, Some(aggregates)).await?;
                let dispatcher =
                    Dispatcher::builder(guard.clone()).concurrency(WORKERS as usize).build().await?;
                let left = "SELECT count(*) FROM idempotency_outbox_events WHERE status = 'pending'";
                let running = dispatcher.spawn();
                let (mut rates, mut begin, mut last) = (Vec::new(), Instant::now(), count);
                while last > 0 {
                    // Counting what is left must not be what is measured.
                    tokio::time::sleep(Duration::from_millis(20 + last / 400)).await;
                    let now = sqlx::query_scalar::<_, i64>(left).fetch_one(guard.pool()).await?.unsigned_abs();
                    if last - now >= count / 10 || now == 0 {
                        rates.push(rate(last - now, begin.elapsed()));
                        (begin, last) = (Instant::now(), now);
                    }
                }
                running.shutdown().await;
                let shown: Vec<_> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
                println!("{:<9} {count} events of {what}: {} per second, tenth by tenth", stringify!($module), shown.join(" "));
                Ok(())
            }

            async fn fill(guard: &Guard, count: u64, aggregates: Option<u64>) -> Result<(), Error> {
                let aggregate = aggregates.map_or("NULL".to_owned(), |all| $concat.replace("{}", &all.to_string()));
                let mut from = 0;
                while from < count {
                    let to = count.min(from + $chunk);
                    let row = format!(
                        "{}, 'bench.ordered', 1, 'acme', 'user-7', {aggregate}, '{{\"sku\":\"book\"}}', '{{}}', 'pending', 0, 0, {now}, ' ', {now}",
                        $uuid, now = $now
                    );
                    let insert = "INSERT INTO idempotency_outbox_events (event_id, event_type, event_version, tenant_id, \
                                  user_id, aggregate_key, payload, headers, status, attempt, deliveries, due_at, \
                                  delivered_to, created_at)";
                    execute(guard, &format!("{insert} {}", numbers(from, to, &row))).await?;
                    from = to;
                }
                execute(guard, $settle).await
            }

            fn numbers(from: u64, to: u64, row: &str) -> String {
                $numbers.replace("{from}", &from.to_string()).replace("{to}", &to.to_string()).replace("{row}", row)
            }

            async fn execute(guard: &Guard, sql: &str) -> Result<(), Error> {
                sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(guard.pool()).await?;
                Ok(())
            }
        }
    };
}

on!(
    sqlite,
    sqlx::Sqlite,
    "WITH RECURSIVE s(n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM s WHERE n + 1 < {to}) SELECT {row} FROM s",
    "'a' || n % {}",
    "randomblob(16)",
    "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
    "ANALYZE",
    100_000,
    "BEGIN IMMEDIATE",
    "SELECT id, payload FROM plain_events ORDER BY id LIMIT 1",
    1
);
on!(
    postgres,
    sqlx::Postgres,
    "SELECT {row} FROM generate_series({from}::bigint, {to} - 1) AS s(n)",
    "'a' || n % {}",
    "gen_random_uuid()",
    "statement_timestamp()",
    "VACUUM (ANALYZE) idempotency_outbox_events",
    100_000,
    "BEGIN",
    "SELECT id, payload FROM plain_events ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
    Semaphore::MAX_PERMITS
);
on!(
    mysql,
    sqlx::MySql,
    "WITH RECURSIVE s(n) AS (SELECT {from} UNION ALL SELECT n + 1 FROM s WHERE n + 1 < {to}) SELECT {row} FROM s",
    "CONCAT('a', n MOD {})",
    "UNHEX(REPLACE(UUID(), '-', ''))",
    "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
    "ANALYZE TABLE idempotency_outbox_events",
    1000,
    "BEGIN",
    "SELECT id, payload FROM plain_events ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
    Semaphore::MAX_PERMITS
);
