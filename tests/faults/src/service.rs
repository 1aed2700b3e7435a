//! The program under test: guarded routes, an outbox, and points at which the driver lets it die or freeze.

mod answer;
mod app;
mod control;
mod handlers;
mod mysql;
mod partner;
mod points;
mod router;
mod rows;
mod sqlite;
mod writes;

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use idem_runtime::BuildError;
use idem_runtime::outbox::{Dispatcher, DispatcherError};
use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::net::TcpListener;

pub use points::Action;
pub use rows::Rows;

use app::App;

/// How the driver starts a process.
#[derive(Debug, Clone, Parser)]
pub struct Arguments {
    /// The database, whose tables [`prepare`] has made.
    #[arg(long)]
    pub database_url: String,
    /// Where the provider listens.
    #[arg(long)]
    pub provider: String,
    /// The size of the pool.
    #[arg(long, default_value_t = 8)]
    pub connections: u32,
    /// Serve orders without a guard, so that the checker has something to find.
    #[arg(long)]
    pub unguarded: bool,
}

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StartError {
    #[error("the database cannot be used")]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Guard(#[from] BuildError),
    #[error(transparent)]
    Dispatcher(#[from] DispatcherError),
    #[error("cannot listen, or hear signals")]
    Listen(#[from] std::io::Error),
    #[error("the provider cannot be asked")]
    Provider(#[from] reqwest::Error),
}

/// Makes the tables of the guard and those of the service.
///
/// # Errors
///
/// When the database refuses.
pub async fn prepare(url: &str) -> Result<(), StartError> {
    match url.split(':').next() {
        Some("sqlite") => prepare_on::<sqlx::Sqlite>(url).await,
        Some("mysql") => prepare_on::<sqlx::MySql>(url).await,
        _ => prepare_on::<sqlx::Postgres>(url).await,
    }
}

async fn prepare_on<D: Rows>(url: &str) -> Result<(), StartError> {
    let pool = D::open(url, 1, None).await?;
    D::migrate(&pool).await.map_err(sqlx::Error::from)?;
    D::create(&pool).await?;
    pool.close().await;
    Ok(())
}

/// A small pool without the hooks of the service, to read what it left.
///
/// # Errors
///
/// When the database refuses.
pub async fn open<D: Rows>(url: &str) -> Result<sqlx::Pool<D>, StartError> {
    Ok(D::open(url, 2, None).await?)
}

/// Serves until it is killed.
///
/// # Errors
///
/// When it cannot start.
pub async fn serve(arguments: &Arguments) -> Result<(), StartError> {
    match arguments.database_url.split(':').next() {
        Some("sqlite") => serve_on::<sqlx::Sqlite>(arguments).await,
        Some("mysql") => serve_on::<sqlx::MySql>(arguments).await,
        _ => serve_on::<sqlx::Postgres>(arguments).await,
    }
}

async fn serve_on<D: Rows>(arguments: &Arguments) -> Result<(), StartError> {
    control::survive_file_limits()?;
    // A driver that is killed leaves nothing behind.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)?;
    let app = App::<D>::open(arguments).await?;
    let dispatcher = Dispatcher::builder(app.guard().clone())
        .state(app.clone())
        .concurrency(4)
        .lease(Duration::from_secs(1))
        .look_every(Duration::from_millis(100))
        // A killed delivery counts, and many are killed.
        .max_deliveries(100_000)
        .pauses(Duration::from_millis(20), Duration::from_millis(200))
        .build()
        .await?;
    let _running = dispatcher.spawn();
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    println!("listening on {} at {clock}", listener.local_addr()?);
    Ok(axum::serve(listener, router::service(app, arguments.unguarded)).await?)
}
