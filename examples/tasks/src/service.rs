//! The service: its state, who may call it, its route and its worker.

use std::error::Error;
use std::path::PathBuf;

use example_support::{Flags, User, open, serve};
use idem_runtime::axum::{IdempotencyState, Router, post};
use idem_runtime::sqlite::Guard;
use idem_runtime::{KeyError, Scope};

use crate::{invoices, mails, queue};

/// What every handler can reach.
#[derive(Clone)]
struct App(Guard);

impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = User;

    fn guard(&self) -> &Guard {
        &self.0
    }

    fn scope(user: &User) -> Result<Scope, KeyError> {
        user.scope()
    }
}

/// Serves until Ctrl-C, with a worker in the same process; it could as well be a process of its own.
pub(crate) async fn run(flags: Flags, folder: PathBuf) -> Result<(), Box<dyn Error>> {
    let pool = open(&folder).await?;
    queue::create_tables(&pool).await?;
    sqlx::raw_sql(invoices::TABLE).execute(&pool).await?;
    sqlx::raw_sql(mails::TABLE).execute(&pool).await?;
    let guard = Guard::builder(pool).migrate().build().await?;
    let router =
        Router::new().route("/invoices", post(invoices::create)).with_state(App(guard.clone())).into_axum();
    let working = tokio::spawn(queue::work(guard.clone()));
    serve(flags.listen, router, guard).await?;
    // What it has begun is found again at the next start.
    working.abort();
    Ok(())
}
