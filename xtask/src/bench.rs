//! `cargo xtask bench`: builds the benchmark with optimisations and runs it on a server of its own.

mod compile;
mod crates;

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::server::BUFFERS;
use crate::{Result, mariadb, packages, postgres};

/// What to measure and where to put it.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    part: Option<Part>,
    /// Short slots: shows that the benchmark works, not how fast anything is.
    #[arg(long)]
    quick: bool,
    /// Write the figures to this file, as a JSON list.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    /// Measure what the attribute adds to the time that a crate takes to compile.
    Compile(compile::Options),
    /// Measure a load with and without the maintenance in the background, and what ten cycles leave.
    Maintenance(Short),
    /// Measure claims and replays among few and many records; takes up to 12 GB of disk.
    Growth(Growth),
    /// Measure events per second against a bare loop, and how a long backlog drains.
    Outbox(Short),
}

#[derive(Debug, clap::Args)]
struct Short {
    /// Few records and short slots: shows that the benchmark works, not how fast anything is.
    #[arg(long)]
    quick: bool,
    /// Only these databases: sqlite, postgres, mysql.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct Growth {
    #[command(flatten)]
    short: Short,
    /// Buffers of so many megabytes instead of a quarter of the memory.
    #[arg(long, value_name = "MEGABYTES")]
    buffers: Option<u64>,
}

/// A quarter of this machine's memory in megabytes, which PostgreSQL's manual gives as the start for its buffers.
fn quarter_of_the_memory() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.strip_suffix("kB"));
    let kilobytes: u64 = total.ok_or("/proc/meminfo has no MemTotal")?.trim().parse()?;
    Ok(kilobytes / 4096)
}

/// Runs the benchmark; whether it ended well.
pub(crate) async fn run(root: &Path, options: &Options) -> Result<bool> {
    packages::install_missing().await?;
    let part = match &options.part {
        Some(Part::Compile(options)) => return compile::run(root, options).await,
        Some(Part::Maintenance(short)) => Some(("maintenance", short)),
        Some(Part::Growth(growth)) => Some(("growth", &growth.short)),
        Some(Part::Outbox(short)) => Some(("outbox", short)),
        None => None,
    };
    let buffers = match &options.part {
        Some(Part::Growth(Growth { buffers, .. })) => buffers.map_or_else(quarter_of_the_memory, Ok)?,
        _ => BUFFERS,
    };
    let server = postgres::Server::with_buffers(buffers).await?;
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["run", "--release", "--package", "idem-bench", "--"]);
    command.args(["--postgres", &server.url()]);
    let mysql = if part.is_some() { Some(mariadb::Server::with_buffers(buffers).await?) } else { None };
    if let (Some((part, short)), Some(server)) = (part, &mysql) {
        command.args([part, "--mysql", &server.url()]);
        if !short.only.is_empty() {
            command.arg("--only").arg(short.only.join(","));
        }
    }
    if options.quick || part.is_some_and(|(_, short)| short.quick) {
        command.arg("--quick");
    }
    if let Some(file) = &options.json {
        command.arg("--json").arg(std::path::absolute(file)?);
    }
    let status = command.kill_on_drop(true).status().await?;
    Ok(status.success())
}
