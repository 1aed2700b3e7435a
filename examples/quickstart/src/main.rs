//! A shop that takes orders and payments, each of them once, however often the client sends it.
//!
//! Read `orders.rs` first, then `payments.rs` and `service.rs`: they are what an application writes. `demo.rs`
//! plays a client that repeats itself, and kills the service in the middle of an order.

#![forbid(unsafe_code)]

mod client;
mod database;
mod demo;
mod error;
mod orders;
mod payments;
mod postgres;
mod process;
mod service;
mod sqlite;

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser;

use crate::database::ShopDatabase;

/// Orders and payments that happen once, however often the client sends them.
#[derive(Parser)]
struct Flags {
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:3000")]
    listen: SocketAddr,
    /// `postgres://...` or `sqlite://...`; without it the file quickstart.sqlite in this folder.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Starts the service on a free port, repeats requests, and kills the service in the middle of one.
    #[arg(long)]
    demo: bool,
    /// Prints the address alone.
    #[arg(long, hide = true)]
    quiet: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Flags::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quickstart: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run(flags: Flags) -> Result<(), Box<dyn Error>> {
    // Removed with everything in it when this function returns.
    let folder = tempfile::Builder::new().prefix("idem-quickstart-").tempdir()?;
    let url = match &flags.database_url {
        Some(url) => url.clone(),
        None if flags.demo => format!("sqlite://{}", folder.path().join("demo.sqlite").display()),
        None => "sqlite://quickstart.sqlite".to_owned(),
    };
    match url.split_once(':') {
        Some(("sqlite", file)) if file.contains(":memory:") => {
            Err("a database in memory does not outlive the service: give a file".into())
        }
        Some(("sqlite", _)) => play::<sqlx::Sqlite>(&url, &flags).await,
        Some(("postgres" | "postgresql", _)) => play::<sqlx::Postgres>(&url, &flags).await,
        _ => Err("--database-url must begin with postgres:// or sqlite://".into()),
    }
}

async fn play<D: ShopDatabase>(url: &str, flags: &Flags) -> Result<(), Box<dyn Error>> {
    if flags.demo {
        return Ok(demo::run::<D>(url).await?);
    }
    service::serve::<D>(url, flags.listen, !flags.quiet).await
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        // Some errors repeat their cause in their own words.
        if !text.ends_with(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    /// The file shows a reviewer each change of a stance; `IDEM_UPDATE_STANCES=1 cargo test` writes it anew.
    #[test]
    fn every_change_of_a_stance_is_seen() {
        idem_runtime::assert_stances!("stances.snap");
    }
}
