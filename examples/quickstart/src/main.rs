//! A shop that takes orders and payments, each of them once, however often the client sends it.
//!
//! Read `orders.rs` first, then `payments.rs`: they are what an application writes. `demo.rs` plays a client
//! that repeats itself against two worker processes, one of which is killed.

#![forbid(unsafe_code)]

mod client;
mod database;
mod demo;
mod error;
mod orders;
mod payments;
mod postgres;
mod process;
mod protocol;
mod sqlite;
mod worker;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;

use crate::database::ShopDatabase;

const INTRODUCTION: &str = "\
quickstart: orders and payments that happen once, however often the client sends them.

  cargo run -p quickstart -- --demo
      two worker processes on a SQLite file in a temporary folder
  cargo run -p quickstart -- --demo --database-url postgres://user@localhost/database
      the same on PostgreSQL; it makes its tables and can be repeated";

/// Orders and payments that happen once, however often the client sends them.
#[derive(Parser)]
struct Flags {
    /// Repeats requests against two worker processes, and kills one of them.
    #[arg(long, group = "part")]
    demo: bool,
    /// Answers the calls that the demo writes to its standard input.
    #[arg(long, group = "part", requires = "database_url", hide = true)]
    worker: bool,
    /// `postgres://...` or `sqlite://...`; without it a SQLite file in a temporary folder.
    #[arg(long, value_name = "URL", requires = "part")]
    database_url: Option<String>,
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
    if !flags.demo && !flags.worker {
        println!("{INTRODUCTION}");
        return Ok(());
    }
    let Some(url) = flags.database_url else {
        // Removed with everything in it when this function returns.
        let folder = tempfile::Builder::new().prefix("idem-quickstart-").tempdir()?;
        let url = format!("sqlite://{}", folder.path().join("demo.sqlite").display());
        return Ok(demo::run::<sqlx::Sqlite>(&url).await?);
    };
    match url.split_once(':') {
        Some(("sqlite", file)) if file.contains(":memory:") => {
            Err("two processes cannot share a database in memory: give a file".into())
        }
        Some(("sqlite", _)) => play::<sqlx::Sqlite>(&url, flags.worker).await,
        Some(("postgres" | "postgresql", _)) => play::<sqlx::Postgres>(&url, flags.worker).await,
        _ => Err("--database-url must begin with postgres:// or sqlite://".into()),
    }
}

async fn play<D: ShopDatabase>(url: &str, worker: bool) -> Result<(), Box<dyn Error>> {
    if worker {
        return worker::run::<D>(url).await;
    }
    Ok(demo::run::<D>(url).await?)
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
