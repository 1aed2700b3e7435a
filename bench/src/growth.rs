//! Claims and replays among few and many records, in turn within one run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::measure::{Slots, quantile};
use crate::work::{self, Work};
use crate::{Error, Options, REPLAYED, fill, fresh};

const CALLERS: u32 = 8;
const FEW: u64 = 10_000;
const MANY: u64 = 1_000_000;

pub(crate) async fn run(options: &Options, most: u64) -> Result<(), Error> {
    let (sizes, small) = if options.quick {
        (vec![100, 1000, 2000], vec![100, 1000])
    } else {
        (vec![FEW, MANY, most], vec![FEW, MANY])
    };
    println!(
        "{:<10} {:<7} {:>10} {:>10} {:>22}",
        "database", "measure", "records", "per second", "time to that of few"
    );
    if options.has("sqlite") {
        let folder = tempfile::tempdir()?;
        let mut works = Vec::new();
        for size in &sizes {
            let path = folder.path().join(format!("{size}.sqlite"));
            works.push((*size, work::on_sqlite(&path, CALLERS).await?));
        }
        compare(options, works).await?;
    }
    if let Some(url) = options.postgres.as_ref().filter(|_| options.has("postgres")) {
        let mut works = Vec::new();
        for size in &sizes {
            works.push((*size, work::on_postgres(url, CALLERS).await?));
        }
        compare(options, works).await?;
    }
    if let Some(url) = options.mysql.as_ref().filter(|_| options.has("mysql")) {
        let mut works = Vec::new();
        for size in &small {
            works.push((*size, work::on_mysql(url, CALLERS).await?));
        }
        compare(options, works).await?;
    }
    Ok(())
}

async fn compare<W: Work>(options: &Options, works: Vec<(u64, W)>) -> Result<(), Error> {
    let mut filled = Vec::new();
    for (size, work) in works {
        let begin = Instant::now();
        work.guarded(REPLAYED).await?;
        let hash = work.hash(REPLAYED).await?;
        fill::fill(&work, size, 24, &hash, "user-7").await?;
        fill::settle(&work).await?;
        eprintln!("{}: {size} records in {:.0?}", work.dialect().name, begin.elapsed());
        filled.push((size, Arc::new(work)));
    }
    let slots = if options.quick { Slots::quick() } else { Slots::of(Duration::from_millis(1500), 11) };
    for measure in ["claim", "replay"] {
        let operations: Vec<_> = filled
            .iter()
            .map(|(size, work)| {
                let (size, work) = (*size, Arc::clone(work));
                move || {
                    let work = Arc::clone(&work);
                    let key =
                        if measure == "claim" { fresh() } else { fill::key(fastrand::u64(0..size), size) };
                    async move { work.guarded(&key).await }
                }
            })
            .collect();
        // The first slots of each warm up.
        Slots::of(Duration::from_millis(500), 1).in_turn(CALLERS, &operations).await?;
        let mut rates = slots.in_turn(CALLERS, &operations).await?;
        let few = rates[0].clone();
        for ((size, work), rates) in filled.iter().zip(&mut rates) {
            let mut ratios: Vec<_> = few.iter().zip(rates.iter()).map(|(few, rate)| few / rate).collect();
            let (low, median, high) =
                (quantile(&mut ratios, 1), quantile(&mut ratios, 2), quantile(&mut ratios, 3));
            println!(
                "{:<10} {measure:<7} {size:>10} {:>10.0} {median:>8.2} ({low:.2} to {high:.2})",
                work.dialect().name,
                quantile(rates, 2)
            );
        }
    }
    Ok(())
}
