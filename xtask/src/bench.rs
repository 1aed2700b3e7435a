//! `cargo xtask bench`: builds the benchmark with optimisations and runs it on a server of its own.

mod compile;
mod crates;

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::{Result, packages, postgres};

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
}

/// Runs the benchmark; whether it ended well.
pub(crate) async fn run(root: &Path, options: &Options) -> Result<bool> {
    packages::install_missing().await?;
    if let Some(Part::Compile(options)) = &options.part {
        return compile::run(root, options).await;
    }
    let server = postgres::Server::start().await?;
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["run", "--release", "--package", "idem-bench", "--"]);
    command.args(["--postgres", &server.url()]);
    if options.quick {
        command.arg("--quick");
    }
    if let Some(file) = &options.json {
        command.arg("--json").arg(std::path::absolute(file)?);
    }
    let status = command.kill_on_drop(true).status().await?;
    Ok(status.success())
}
