//! What the maintenance in the background costs a load, and what it leaves behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use idem_runtime::Maintenance;

use crate::measure::{Slots, quantile};
use crate::work::{self, Work};
use crate::{Error, Options, REPLAYED, fill, fresh};

const CALLERS: u32 = 32;
const LEFT: &str = "SELECT count(*) FROM idempotency_records WHERE user_id = 'swept'";

/// As it is by default, but for the time between rounds: a slot is shorter than that.
fn maintenance() -> Maintenance {
    Maintenance::new().interval(Duration::from_millis(20))
}

pub(crate) async fn run(options: &Options, records: u64) -> Result<(), Error> {
    if options.has("sqlite") {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("bench.sqlite");
        beside_a_load(options, records, work::on_sqlite(&path, CALLERS).await?).await?;
    }
    if let Some(url) = options.mysql.as_ref().filter(|_| options.has("mysql")) {
        beside_a_load(options, records, work::on_mysql(url, CALLERS).await?).await?;
    }
    if let Some(url) = options.postgres.as_ref().filter(|_| options.has("postgres")) {
        beside_a_load(options, records, work::on_postgres(url, CALLERS).await?).await?;
        cycles(options, &work::on_postgres(url, CALLERS).await?).await?;
    }
    Ok(())
}

/// Slots without and with the maintenance in turn, until it has removed all that was due.
async fn beside_a_load<W: Work>(options: &Options, records: u64, work: W) -> Result<(), Error> {
    let (count, length) = if options.quick { (2000, 200) } else { (records, 4000) };
    work.guarded(REPLAYED).await?;
    let hash = work.hash(REPLAYED).await?;
    fill::fill(&work, count, -48, &hash, "swept").await?;
    fill::settle(&work).await?;
    let work = Arc::new(work);
    let at = Arc::clone(&work);
    let order = move || {
        let work = Arc::clone(&at);
        async move { work.guarded(&fresh()).await }
    };
    let slots = Slots::of(Duration::from_millis(length), 1);
    slots.slot(CALLERS, &order).await?;
    let (mut ratios, mut without, mut with) = (Vec::new(), Vec::new(), Vec::new());
    let mut swept_in = Duration::ZERO;
    let mut left = work.number(LEFT).await?;
    while left > 0 {
        let alone = slots.slot(CALLERS, &order).await?;
        let (running, begin) = (work.maintain(maintenance()), Instant::now());
        let beside = slots.slot(CALLERS, &order).await?;
        running.shutdown().await;
        swept_in += begin.elapsed();
        left = work.number(LEFT).await?;
        // The last slot is not swept to its end.
        if left > 0 || ratios.is_empty() {
            ratios.push(beside / alone);
            without.push(alone);
            with.push(beside);
        }
    }
    let (low, high) = (quantile(&mut ratios, 1), quantile(&mut ratios, 3));
    #[expect(clippy::cast_precision_loss, reason = "a count of records")]
    let speed = count as f64 / swept_in.as_secs_f64();
    println!(
        "{:<9} {count} records removed at {speed:.0}/s; load of {CALLERS}: {:.0}/s without, {:.0}/s with, \
         ratio {:.3} ({low:.3} to {high:.3}, {} pairs)",
        work.dialect().name,
        quantile(&mut without, 2),
        quantile(&mut with, 2),
        quantile(&mut ratios, 2),
        ratios.len()
    );
    Ok(())
}

/// Ten cycles of filling and removing on PostgreSQL, with the sizes after each.
async fn cycles(options: &Options, work: &impl Work) -> Result<(), Error> {
    let count = if options.quick { 1000 } else { 100_000 };
    let size = async |relation: &str| work.number(&format!("SELECT pg_relation_size('{relation}')")).await;
    let vacuums = "SELECT autovacuum_count FROM pg_stat_user_tables WHERE relname = 'idempotency_records'";
    println!(
        "\n{:>5} {:>12} {:>12} {:>12} {:>12} {:>8}",
        "cycle", "", "table", "unique key", "sweep_after", "vacuums"
    );
    for cycle in 1..=10 {
        fill::fill(work, count, -48, "v1:-:bench", "swept").await?;
        let running = work.maintain(maintenance());
        let sizes = [
            size("idempotency_records").await?,
            size("idempotency_records_pkey").await?,
            size("idempotency_records_sweep_after").await?,
        ];
        print(cycle, "filled", sizes, work.number(vacuums).await?);
        while work.number(LEFT).await? > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        running.shutdown().await;
        let sizes = [
            size("idempotency_records").await?,
            size("idempotency_records_pkey").await?,
            size("idempotency_records_sweep_after").await?,
        ];
        print(cycle, "removed", sizes, work.number(vacuums).await?);
    }
    Ok(())
}

fn print(cycle: u32, when: &str, sizes: [i64; 3], vacuums: i64) {
    let [table, key, sweep] = sizes.map(|bytes| format!("{} kB", bytes / 1024));
    println!("{cycle:>5} {when:>12} {table:>12} {key:>12} {sweep:>12} {vacuums:>8}");
}
