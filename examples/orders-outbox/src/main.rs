//! Orders whose events reach their handlers once, whatever dies in between.
//!
//! Read `orders.rs` first: it publishes. `handlers.rs` acts on the events: one handler writes rows of our own
//! database, one sends a mail. `service.rs` and `dispatch.rs` are the two kinds of processes. `demo.rs` runs them
//! all, kills dispatchers in the middle of their work, and counts what took effect.

#![forbid(unsafe_code)]

mod client;
mod database;
mod demo;
mod dispatch;
mod error;
mod handlers;
mod mail;
mod orders;
mod postgres;
mod process;
mod provider;
mod service;
mod sqlite;
mod summary;

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::database::OrdersDatabase;

/// Orders that publish events, and handlers that act on each event once.
#[derive(Parser)]
struct Flags {
    /// Where to listen for orders.
    #[arg(long, default_value = "127.0.0.1:3000")]
    listen: SocketAddr,
    /// `postgres://...` or `sqlite://...`; without it the file orders-outbox.sqlite in this folder.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Delivers events instead of taking orders; any number of processes may.
    #[arg(long, requires = "mail_provider")]
    dispatch: bool,
    /// Where the mail provider listens, as host and port.
    #[arg(long, value_name = "ADDRESS")]
    mail_provider: Option<SocketAddr>,
    /// How many milliseconds each handler takes longer than it needs, so that it can be killed in the middle.
    #[arg(long, hide = true, default_value_t = 0)]
    dawdle: u64,
    /// Starts the service and three dispatchers, sends orders twice, kills dispatchers, and counts the effects.
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
            eprintln!("orders-outbox: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run(flags: Flags) -> Result<(), Box<dyn Error>> {
    // Removed with everything in it when this function returns.
    let folder = tempfile::Builder::new().prefix("idem-orders-outbox-").tempdir()?;
    let url = match &flags.database_url {
        Some(url) => url.clone(),
        None if flags.demo => format!("sqlite://{}", folder.path().join("demo.sqlite").display()),
        None => "sqlite://orders-outbox.sqlite".to_owned(),
    };
    match url.split_once(':') {
        Some(("sqlite", file)) if file.contains(":memory:") => {
            Err("a database in memory cannot be shared by processes: give a file".into())
        }
        Some(("sqlite", _)) => play::<sqlx::Sqlite>(&url, &flags).await,
        Some(("postgres" | "postgresql", _)) => play::<sqlx::Postgres>(&url, &flags).await,
        _ => Err("--database-url must begin with postgres:// or sqlite://".into()),
    }
}

async fn play<D: OrdersDatabase>(url: &str, flags: &Flags) -> Result<(), Box<dyn Error>> {
    match (flags.demo, flags.dispatch, flags.mail_provider) {
        (true, ..) => Ok(demo::run::<D>(url).await?),
        (false, true, Some(provider)) => {
            dispatch::run::<D>(url, provider, Duration::from_millis(flags.dawdle)).await
        }
        _ => service::serve::<D>(url, flags.listen, !flags.quiet).await,
    }
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
