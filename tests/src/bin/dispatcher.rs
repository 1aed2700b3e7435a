//! A process with a dispatcher, whose handlers say on what they find whether the order was kept; tests kill it.

use std::future::pending;
use std::time::Duration;

use clap::Parser;
use idem_runtime::IdempotencyMutationGuard;
use idem_runtime::outbox::{Delivery, Dispatcher};
use idem_runtime::outbox_handler;
use idem_runtime::store::Outbox;
#[cfg(feature = "mysql")]
use idem_tests::OnMysql;
#[cfg(feature = "postgres")]
use idem_tests::OnPostgres;
use idem_tests::{Fixture, OnSqlite};
use serde::Deserialize;
use sqlx::Pool;
use sqlx::pool::PoolOptions;

#[derive(Parser)]
struct Arguments {
    /// The database, with the tables of a `Fixture`.
    #[arg(long)]
    database_url: String,
}

/// The event number `number` of its aggregate, from zero.
#[derive(Deserialize)]
struct Move {
    aggregate: String,
    number: i64,
}

impl Move {
    fn row(&self) -> String {
        format!("{}-{}", self.aggregate, self.number)
    }

    /// How many moves of this aggregate took effect before this one.
    fn count(&self) -> String {
        format!("SELECT count(*) FROM effects WHERE name LIKE '{}-%'", self.aggregate)
    }
}

/// The handlers of one database.
macro_rules! handlers {
    ($module:ident, $fixture:ty, $rows:literal, $outside:literal) => {
        mod $module {
            use idem_runtime::$module::{Claim, Mutation};

            use super::*;

            #[outbox_handler(event = "load.moved", version = 1, handler_key = $rows, lease = "400ms")]
            async fn rows(delivery: &Delivery<Move>, mutation: &mut Mutation) -> sqlx::Result<()> {
                let moved = delivery.payload();
                if <$fixture>::number(mutation, &moved.count()).await? != moved.number {
                    <$fixture>::effect(mutation, &format!("disorder-{}", moved.row())).await?;
                }
                <$fixture>::effect(mutation, &moved.row()).await
            }

            /// The provider is a table that refuses a key which it has seen, as providers do.
            #[outbox_handler(event = "load.charged", version = 1, handler_key = $outside, lease = "400ms")]
            async fn outside(
                delivery: &Delivery<Move>,
                provider: &Pool<<$fixture as Fixture>::S>,
                claim: &Claim,
            ) -> sqlx::Result<()> {
                let charge = claim.downstream_key(&delivery.payload().row());
                let mut transaction = provider.begin().await?;
                // A unique index of the test refuses the second.
                match <$fixture>::effect(&mut transaction, charge.as_str()).await {
                    Ok(()) => transaction.commit().await,
                    Err(sqlx::Error::Database(error)) if error.is_unique_violation() => Ok(()),
                    Err(error) => Err(error),
                }
            }
        }
    };
}

handlers!(sqlite, OnSqlite, "load-rows-s", "load-outside-s");
#[cfg(feature = "postgres")]
handlers!(postgres, OnPostgres, "load-rows-p", "load-outside-p");
#[cfg(feature = "mysql")]
handlers!(mysql, OnMysql, "load-rows-m", "load-outside-m");

#[tokio::main(worker_threads = 2)]
async fn main() {
    let Arguments { database_url } = Arguments::parse();
    if database_url.starts_with("sqlite:") {
        return dispatch::<OnSqlite>(&database_url).await;
    }
    #[cfg(feature = "mysql")]
    if database_url.starts_with("mysql:") {
        return dispatch::<OnMysql>(&database_url).await;
    }
    #[cfg(feature = "postgres")]
    if database_url.starts_with("postgres") {
        return dispatch::<OnPostgres>(&database_url).await;
    }
    panic!("built without the feature for this database");
}

async fn dispatch<F: Fixture<S: Outbox>>(url: &str) {
    let pool =
        PoolOptions::<F::S>::new().max_connections(8).connect(url).await.expect("the database is there");
    let guard = IdempotencyMutationGuard::builder(pool.clone()).build().await.expect("its tables were made");
    let dispatcher = Dispatcher::builder(guard)
        .state(pool)
        .concurrency(6)
        .lease(Duration::from_millis(400))
        .look_every(Duration::from_millis(50))
        // A killed delivery counts, and this test kills many.
        .max_deliveries(100_000)
        .pauses(Duration::from_millis(5), Duration::from_millis(20))
        .build()
        .await
        .expect("the outbox is there");
    let _running = dispatcher.spawn();
    println!("running");
    pending::<()>().await;
}
