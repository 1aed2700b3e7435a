//! Measures what the guard costs: each figure is a ratio of two things measured in turn within one run.

#![forbid(unsafe_code)]

mod fill;
mod growth;
mod maintenance;
mod measure;
mod outbox;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use measure::{Figure, Name, Slots};
use work::Work;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The guard against the same work without it, on SQLite and PostgreSQL.
#[derive(Debug, Parser)]
struct Options {
    #[command(subcommand)]
    part: Option<Part>,
    /// A PostgreSQL server on which databases may be created.
    #[arg(long, global = true)]
    postgres: Option<String>,
    /// A MariaDB or MySQL server on which databases may be created; only the parts look at it.
    #[arg(long, global = true)]
    mysql: Option<String>,
    /// Short slots, and few records in the parts.
    #[arg(long, global = true)]
    quick: bool,
    /// Only comparisons with all of these words: a database, a measure, a mode, what it is compared with.
    #[arg(long, value_delimiter = ',', global = true)]
    only: Vec<String>,
    /// How many connections and callers.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 32])]
    connections: Vec<u32>,
    /// Where to write the figures.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What is measured besides the guard itself.
#[derive(Debug, Subcommand)]
enum Part {
    /// A load with and without the maintenance in the background, and the sizes after ten cycles.
    Maintenance {
        /// How many records are removed beside the load.
        #[arg(long, default_value_t = 1_000_000)]
        records: u64,
    },
    /// Claims and replays among few and many records.
    Growth {
        /// The most records on PostgreSQL and SQLite.
        #[arg(long, default_value_t = 10_000_000)]
        most: u64,
    },
    /// Events per second against a bare loop, and a long backlog.
    Outbox {
        /// How many events wait.
        #[arg(long, default_value_t = 100_000)]
        backlog: u64,
    },
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let options = Options::parse();
    match options.part {
        Some(Part::Maintenance { records }) => return maintenance::run(&options, records).await,
        Some(Part::Growth { most }) => return growth::run(&options, most).await,
        Some(Part::Outbox { backlog }) => return outbox::run(&options, backlog).await,
        None => {}
    }
    let mut figures = Vec::new();
    let folder = tempfile::tempdir()?;
    for &connections in &options.connections {
        let path = folder.path().join(format!("bench-{connections}.sqlite"));
        let work = work::on_sqlite(&path, connections).await?;
        figures.extend(all("sqlite", connections, &options, work).await?);
        if let Some(url) = &options.postgres {
            let work = work::on_postgres(url, connections).await?;
            figures.extend(all("postgres", connections, &options, work).await?);
        }
    }
    print(&figures);
    if let Some(file) = &options.json {
        std::fs::write(file, serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(())
}

/// Every comparison on one database at one number of connections.
async fn all<W: Work>(
    database: &'static str,
    connections: u32,
    options: &Options,
    work: W,
) -> Result<Vec<Figure>, Error> {
    let work = Arc::new(work);
    work.guarded(REPLAYED).await?;
    let slots = if options.quick { Slots::quick() } else { Slots::full() };
    let mut figures = Vec::new();
    macro_rules! compare {
        ($measure:literal $mode:literal $ours:ident($key:expr), $theirs:ident($($their_key:expr)?)) => {
            let name = Name { database, measure: $measure, mode: $mode, connections, ratio_to: stringify!($theirs) };
            if options.wants(&name) {
                let (left, right) = (Arc::clone(&work), Arc::clone(&work));
                let ours = move || { let work = Arc::clone(&left); async move { work.$ours(&$key).await } };
                let theirs = move || {
                    let work = Arc::clone(&right);
                    async move { work.$theirs($(&$their_key)?).await }
                };
                figures.push(slots.compare(&name, ours, theirs).await?);
            }
        };
    }
    compare!("first_call" "transactional" guarded(fresh()), floor(fresh()));
    compare!("first_call" "transactional" guarded(fresh()), unguarded());
    compare!("first_call" "external" external(fresh()), unguarded());
    compare!("replay" "transactional" guarded(REPLAYED), point_select(REPLAYED));
    compare!("storm" "transactional" storm(fresh()), point_select(REPLAYED));
    Ok(figures)
}

/// A key that is answered before anything is measured.
const REPLAYED: &str = "replayed";

fn fresh() -> String {
    format!("{:032x}", fastrand::u128(..))
}

impl Options {
    fn wants(&self, name: &Name) -> bool {
        let words = [name.database, name.measure, name.mode, name.ratio_to];
        self.only.iter().all(|word| words.contains(&word.as_str()))
    }
}

impl Options {
    /// Whether a part looks at this database.
    fn has(&self, database: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| word == database)
    }
}

fn print(figures: &[Figure]) {
    println!(
        "{:<10} {:<11} {:<14} {:>5}  {:<13} {:>6} {:>11} {:>11}",
        "database", "measure", "mode", "conns", "ratio to", "ratio", "ours/s", "theirs/s"
    );
    for figure in figures {
        println!(
            "{:<10} {:<11} {:<14} {:>5}  {:<13} {:>6.2} {:>11.0} {:>11.0}",
            figure.name.database,
            figure.name.measure,
            figure.name.mode,
            figure.name.connections,
            figure.name.ratio_to,
            figure.ratio,
            figure.ours_per_second,
            figure.theirs_per_second
        );
    }
}
