//! `cargo xtask`: all gates of this repository behind one command.
//!
//! Whatever it starts it also stops, by process id: at the end, after a failure, a panic or a signal.

#![forbid(unsafe_code)]

mod bench;
mod faults;
mod gates;
mod mariadb;
mod mutants;
mod packages;
mod postgres;
mod sbom;
mod server;
mod test;
mod tidy;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The gates of this repository, and the servers that its tests need.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Run every gate: installs what is missing, starts the databases, checks, tests, documentation, examples.
    Test {
        /// Run the other gates too after one has failed.
        #[arg(long)]
        keep_going: bool,
    },
    /// Start the PostgreSQL server of the tests, print its URL and keep it until Ctrl-C.
    Postgres,
    /// Start the MariaDB server of the tests, likewise.
    Mariadb,
    /// Check the layout of the source tree.
    Tidy,
    /// Write a bill of materials, as `CycloneDX` has it, of what ships, and check that nothing of it is missing.
    Sbom,
    /// Measure the guard against the same work without it, in interleaved slots of one run.
    Bench(bench::Options),
    /// Run a service under load while faults strike it, and check its answers against its tables.
    Faults(faults::Options),
    /// Change the runtime one expression at a time, and list the changes that no test notices: docs/mutants.md.
    Mutants(mutants::Options),
}

// One thread, as the kernel ties the life of the server to the thread that started it.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let command = Command::parse();
    // Dropping `run` stops the server and the gate that is running.
    let outcome = tokio::select! {
        outcome = run(&command) => outcome,
        interrupted = interruption() => match (interrupted, &command) {
            (Ok(()), Command::Postgres | Command::Mariadb) => Ok(true),
            (Ok(()), _) => Err("interrupted".into()),
            (Err(error), _) => Err(error),
        },
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: &Command) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
    match command {
        Command::Test { keep_going } => test::run(root, *keep_going).await,
        Command::Postgres => {
            packages::install_missing().await?;
            let server = postgres::Server::start().await?;
            keep("IDEM_TEST_POSTGRES_URL", &server.url(), &server.log()).await
        }
        Command::Mariadb => {
            packages::install_missing().await?;
            let server = mariadb::Server::start().await?;
            keep("IDEM_TEST_MYSQL_URL", &server.url(), &server.log()).await
        }
        Command::Tidy => tidy::run(root),
        Command::Sbom => sbom::run(root),
        Command::Bench(options) => bench::run(root, options).await,
        Command::Faults(options) => faults::run(root, options).await,
        Command::Mutants(options) => mutants::run(root, options).await,
    }
}

/// Says how to use a server, which runs as long as this does.
async fn keep(variable: &str, url: &str, log: &Path) -> Result<bool> {
    println!("export {variable}={url}");
    println!("its log is {}", log.display());
    println!("Ctrl-C stops the server and removes its data");
    std::future::pending().await
}

/// Resolves at Ctrl-C, or when somebody asks this process to end.
async fn interruption() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed?,
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    Ok(())
}
