//! The command line of an example, and its `main`.

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::client::Summary;
use crate::error::DemoError;

/// A small service that does each thing once; `--demo` plays a client that repeats itself.
#[derive(Debug, Clone, Parser)]
pub struct Flags {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:3000")]
    pub listen: SocketAddr,
    /// Where the database and other files are; a new folder, removed at the end, unless named.
    #[arg(long, value_name = "PATH")]
    folder: Option<PathBuf>,
    /// Starts the service on a free port, repeats requests, and kills the service in the middle.
    #[arg(long)]
    demo: bool,
    /// Prints the address alone.
    #[arg(long, hide = true)]
    pub quiet: bool,
}

/// The `main` of an example: serves, or plays the demo and prints its summary as the last line.
pub async fn run(
    serve: impl AsyncFnOnce(Flags, PathBuf) -> Result<(), Box<dyn Error>>,
    demo: impl AsyncFnOnce(PathBuf) -> Result<Summary, DemoError>,
) -> ExitCode {
    match play(Flags::parse(), serve, demo).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn play(
    flags: Flags,
    serve: impl AsyncFnOnce(Flags, PathBuf) -> Result<(), Box<dyn Error>>,
    demo: impl AsyncFnOnce(PathBuf) -> Result<Summary, DemoError>,
) -> Result<(), Box<dyn Error>> {
    // Removed with everything in it when this function returns.
    let temporary = tempfile::Builder::new().prefix("idem-example-").tempdir()?;
    let folder = flags.folder.clone().unwrap_or_else(|| temporary.path().to_owned());
    if !flags.demo {
        return serve(flags, folder).await;
    }
    let summary = demo(folder).await?;
    println!("\n{summary}");
    Ok(summary.verdict()?)
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
