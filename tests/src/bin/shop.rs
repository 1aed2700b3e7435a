//! The shop as a process: it prints where it listens and each place that a request reaches.

use std::time::Duration;

use clap::Parser;
use idem_runtime::{Defaults, IdempotencyMutationGuard};
#[cfg(feature = "mysql")]
use idem_tests::OnMysql;
#[cfg(feature = "postgres")]
use idem_tests::OnPostgres;
use idem_tests::shop::Shop;
use idem_tests::{Fixture, OnSqlite};
use sqlx::pool::PoolOptions;
use tokio::net::TcpListener;

#[derive(Parser)]
struct Arguments {
    /// The database, with the tables of a `Fixture`.
    #[arg(long)]
    database_url: String,
    #[arg(long, default_value_t = 30_000)]
    lease_ms: u64,
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let arguments = Arguments::parse();
    if arguments.database_url.starts_with("sqlite:") {
        return serve::<OnSqlite>(&arguments).await;
    }
    #[cfg(feature = "mysql")]
    if arguments.database_url.starts_with("mysql:") {
        return serve::<OnMysql>(&arguments).await;
    }
    #[cfg(feature = "postgres")]
    if arguments.database_url.starts_with("postgres") {
        return serve::<OnPostgres>(&arguments).await;
    }
    panic!("built without the feature for this database");
}

async fn serve<F: Fixture>(arguments: &Arguments) {
    let pool = PoolOptions::<F::S>::new().max_connections(8).connect(&arguments.database_url).await;
    let defaults = Defaults { lease: Duration::from_millis(arguments.lease_ms), ..Defaults::default() };
    let guard = IdempotencyMutationGuard::builder(pool.expect("the database is there"))
        .defaults(defaults)
        .build()
        .await
        .expect("its tables were made");
    let shop = Shop::<F>::new(guard);
    let stage = shop.stage.clone();
    tokio::spawn(async move { stage.report(|place| println!("{}", place.name())).await });
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
    println!("listening {}", listener.local_addr().expect("a listener has an address"));
    axum::serve(listener, shop.app()).await.expect("axum serves for ever");
}
