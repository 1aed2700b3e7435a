//! Measures what the guard costs: each figure is a ratio of two things measured in turn within one run.

#![forbid(unsafe_code)]

mod measure;
mod work;

use std::path::PathBuf;

use clap::Parser;
use measure::{Figure, Slots};
use work::Work;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The guard against the same work without it, on SQLite and PostgreSQL.
#[derive(Debug, Parser)]
struct Options {
    /// A PostgreSQL server on which databases may be created; without one only SQLite is measured.
    #[arg(long)]
    postgres: Option<String>,
    /// Short slots.
    #[arg(long)]
    quick: bool,
    /// Where to write the figures.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let options = Options::parse();
    let slots = if options.quick { Slots::quick() } else { Slots::full() };
    let mut figures = Vec::new();
    let folder = tempfile::tempdir()?;
    for connections in [1, 8, 32] {
        let path = folder.path().join(format!("bench-{connections}.sqlite"));
        let work = work::on_sqlite(&path, connections).await?;
        figures.extend(all("sqlite", connections, &slots, &work).await?);
        if let Some(url) = &options.postgres {
            let work = work::on_postgres(url, connections).await?;
            figures.extend(all("postgres", connections, &slots, &work).await?);
        }
    }
    print(&figures);
    if let Some(file) = options.json {
        std::fs::write(file, serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(())
}

/// Every comparison on one database at one number of connections.
async fn all<W: Work>(
    database: &'static str,
    connections: u32,
    slots: &Slots,
    work: &W,
) -> Result<Vec<Figure>, Error> {
    let key = || format!("{:032x}", fastrand::u128(..));
    let guarded = async || work.guarded(&key()).await;
    let external = async || work.external(&key()).await;
    let floor = async || work.floor(&key()).await;
    let unguarded = async || work.unguarded().await;
    work.guarded("replayed").await?;
    let replay = async || work.guarded("replayed").await;
    let select = async || work.point_select("replayed").await;
    let name = |measure, mode, ratio_to| (database, measure, mode, connections, ratio_to);
    Ok(vec![
        slots.compare(name("first_call", "transactional", "floor"), &guarded, &floor).await?,
        slots.compare(name("first_call", "transactional", "unguarded"), &guarded, &unguarded).await?,
        slots.compare(name("first_call", "external", "unguarded"), &external, &unguarded).await?,
        slots.compare(name("replay", "transactional", "point_select"), &replay, &select).await?,
        slots
            .compare(
                name("storm", "transactional", "point_select"),
                &async || work.storm(&key()).await,
                &select,
            )
            .await?,
    ])
}

fn print(figures: &[Figure]) {
    println!(
        "{:<10} {:<11} {:<14} {:>5}  {:<13} {:>6} {:>11} {:>11}",
        "database", "measure", "mode", "conns", "ratio to", "ratio", "ours/s", "theirs/s"
    );
    for figure in figures {
        println!(
            "{:<10} {:<11} {:<14} {:>5}  {:<13} {:>6.2} {:>11.0} {:>11.0}",
            figure.database,
            figure.measure,
            figure.mode,
            figure.connections,
            figure.ratio_to,
            figure.ratio,
            figure.ours_per_second,
            figure.theirs_per_second
        );
    }
}
