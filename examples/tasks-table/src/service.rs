//! The service: its state, who may call it, its routes and its worker.

use std::error::Error;
use std::path::PathBuf;

use example_support::{Flags, User, open, serve};
use idem_runtime::axum::{IdempotencyState, Router, post};
use idem_runtime::sqlite::Guard;
use idem_runtime::{KeyError, Scope};

use crate::elsewhere::Elsewhere;
use crate::{exports, invoices, mails, queue};

/// What every handler can reach.
#[derive(Clone)]
pub(crate) struct App {
    guard: Guard,
    pub(crate) elsewhere: Elsewhere,
}

impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = User;

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn scope(user: &User) -> Result<Scope, KeyError> {
        user.scope()
    }
}

/// Serves until Ctrl-C, with a worker in the same process; it could as well be a process of its own.
pub(crate) async fn run(flags: Flags, folder: PathBuf) -> Result<(), Box<dyn Error>> {
    let pool = open(&folder).await?;
    for table in [queue::TABLE, invoices::TABLE, mails::TABLE] {
        sqlx::raw_sql(table).execute(&pool).await?;
    }
    let guard = Guard::builder(pool).migrate().build().await?;
    let app = App { guard: guard.clone(), elsewhere: Elsewhere::open(&folder).await? };
    let router = Router::new()
        .route("/invoices", post(invoices::create))
        .route("/exports", post(exports::create))
        .with_state(app)
        .into_axum();
    let working = tokio::spawn(queue::work(guard.clone()));
    serve(flags.listen, router, guard).await?;
    // What it has taken is due again when its lease has ended.
    working.abort();
    Ok(())
}
