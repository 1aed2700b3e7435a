//! Claims and replays among few and many records, in turn within one run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::measure::{Slots, quantile};
use crate::work::{self, Work};
use crate::{Error, Options, REPLAYED, fill, fresh};

const CALLERS: u32 = 8;
const FEW: u64 = 10_000;
const MANY: u64 = 1_000_000;

/// How many records are the newest, which retries ask for.
const NEWEST: usize = 10_000;

/// How many processes answer replays. A guard remembers 8192 keys and replays those with one statement less, which
/// would make a replay among few cheaper for a reason that is not their number.
const PROCESSES: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// An order with a fresh key.
    Claim,
    /// The order of one of the records again that were the newest when the run began.
    Recent,
    /// The order of any of the records again.
    Any,
}

impl Measure {
    const ALL: [Self; 3] = [Self::Claim, Self::Recent, Self::Any];

    fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Recent => "replay of the newest",
            Self::Any => "replay of any",
        }
    }
}

/// Many records, and the keys of the newest of them.
struct Filled<W> {
    work: W,
    size: u64,
    newest: Vec<String>,
}

impl<W: Work> Filled<W> {
    async fn operate(&self, measure: Measure) -> Result<u64, Error> {
        match measure {
            Measure::Claim => self.work.guarded(&fresh()).await,
            Measure::Any => self.work.elsewhere(&fill::key(fastrand::u64(0..self.size), self.size)).await,
            Measure::Recent => {
                let key = fastrand::choice(&self.newest).ok_or("no newest records")?;
                self.work.elsewhere(key).await
            }
        }
    }
}

pub(crate) async fn run(options: &Options, most: u64) -> Result<(), Error> {
    let (sizes, small) = if options.quick {
        (vec![100, 1000, 2000], vec![100, 1000])
    } else {
        (vec![FEW, MANY, most], vec![FEW, MANY])
    };
    println!(
        "{:<10} {:<20} {:>10} {:>10} {:>22}",
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
        let at = fill(options, size, work).await?;
        eprintln!("{}: {size} records in {:.0?}", at.work.dialect().name, begin.elapsed());
        filled.push(Arc::new(at));
    }
    let slots = if options.quick { Slots::quick() } else { Slots::of(Duration::from_millis(1500), 11) };
    // Everything in turn, so that what the filling left behind, or another program does, strikes all alike.
    let operations: Vec<_> = Measure::ALL
        .iter()
        .flat_map(|measure| filled.iter().map(|at| (*measure, Arc::clone(at))))
        .map(|(measure, at)| {
            move || {
                let at = Arc::clone(&at);
                async move { at.operate(measure).await }
            }
        })
        .collect();
    // The first slots of each warm up.
    Slots::of(Duration::from_millis(500), 2).in_turn(CALLERS, &operations).await?;
    let mut rates = slots.in_turn(CALLERS, &operations).await?;
    for (measure, rates) in Measure::ALL.iter().zip(rates.chunks_mut(filled.len())) {
        let few = rates[0].clone();
        for (at, rates) in filled.iter().zip(rates) {
            let mut ratios: Vec<_> = few.iter().zip(rates.iter()).map(|(few, rate)| few / rate).collect();
            let (low, median, high) =
                (quantile(&mut ratios, 1), quantile(&mut ratios, 2), quantile(&mut ratios, 3));
            println!(
                "{:<10} {:<20} {:>10} {:>10.0} {median:>8.2} ({low:.2} to {high:.2})",
                at.work.dialect().name,
                measure.name(),
                at.size,
                quantile(rates, 2)
            );
        }
    }
    Ok(())
}

/// Writes the records, and the newest of them one by one, as requests come.
async fn fill<W: Work>(options: &Options, size: u64, mut work: W) -> Result<Filled<W>, Error> {
    work.guarded(REPLAYED).await?;
    let hash = work.hash(REPLAYED).await?;
    fill::fill(&work, size, 24, &hash, "user-7").await?;
    fill::settle(&work).await?;
    let newest: Vec<_> = (0..if options.quick { 100 } else { NEWEST }).map(|_| fresh()).collect();
    for keys in newest.chunks(CALLERS as usize) {
        futures_util::future::try_join_all(keys.iter().map(|key| work.guarded(key))).await?;
    }
    fill::settle(&work).await?;
    work.spread(PROCESSES).await?;
    Ok(Filled { work, size, newest })
}
