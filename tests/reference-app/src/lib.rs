//! The reference app of the HTTP conformance cases: one route for each thing that a guarded route can be.
//!
//! It uses the public API of the framework alone, and runs on SQLite, PostgreSQL and MySQL with the same handlers.

#![forbid(unsafe_code)]

mod app;
mod business;
mod error;
mod keys;
mod routes;
mod visit;

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

pub use app::App;
pub use business::{Business, Counts, NewRow};
pub use error::StartError;
pub use keys::keyring;
pub use routes::router;

/// Serves the conformance fixture.
#[derive(Debug, Clone, Parser)]
pub struct Arguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// `sqlite://path?mode=rwc` `postgres://...` or `mysql://...`.
    #[arg(long)]
    pub database_url: String,
    /// Where entries into handlers are counted, apart from the guard's database; unless given, beside it.
    #[arg(long)]
    pub counts_url: Option<String>,
    /// How long one statement of the guard may take.
    #[arg(long, default_value_t = 10_000)]
    pub statement_timeout_ms: u64,
    /// A secret for the fingerprints as `id:text`; the first one seals, and further ones are still accepted.
    #[arg(long = "secret")]
    pub secrets: Vec<String>,
}

impl Arguments {
    /// For a database, with everything else by default.
    #[must_use]
    pub fn new(database_url: impl Into<String>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            database_url: database_url.into(),
            counts_url: None,
            statement_timeout_ms: 10_000,
            secrets: Vec::new(),
        }
    }

    /// The longest that a statement may take.
    #[must_use]
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.statement_timeout_ms)
    }
}

/// Reads the command line and serves until the process ends.
///
/// # Errors
///
/// When the database or the address cannot be used.
pub fn main() -> Result<(), StartError> {
    let arguments = Arguments::parse();
    Runtime::new()?.block_on(async {
        let service = service(&arguments).await?;
        let listener = TcpListener::bind(arguments.listen).await?;
        println!("listening on http://{}", listener.local_addr()?);
        Ok(axum::serve(listener, service).await?)
    })
}

/// All routes on the database that the arguments name.
///
/// # Errors
///
/// When the database cannot be used.
pub async fn service(arguments: &Arguments) -> Result<axum::Router, StartError> {
    if arguments.database_url.starts_with("sqlite:") {
        return Ok(router(App::<sqlx::Sqlite>::open(arguments).await?));
    }
    #[cfg(feature = "postgres")]
    if arguments.database_url.starts_with("postgres") {
        return Ok(router(App::<sqlx::Postgres>::open(arguments).await?));
    }
    #[cfg(feature = "mysql")]
    if arguments.database_url.starts_with("mysql:") {
        return Ok(router(App::<sqlx::MySql>::open(arguments).await?));
    }
    Err(StartError::UnknownDatabase(arguments.database_url.clone()))
}
