//! The service: its state, who may call it, and its routes.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use example_support::{Flags, User, open, say, serve};
use idem_runtime::axum::{IdempotencyState, Router, post};
use idem_runtime::sqlite::{Guard, ReadPool};
use idem_runtime::{KeyError, Scope};

use crate::bank::Bank;
use crate::error::AppError;
use crate::provider::Provider;
use crate::{accounts, payments};

/// Names the provider; without it the service starts a pretend one.
pub(crate) const BANK: &str = "PAYMENTS_BANK";
/// How long the provider has for an answer, in milliseconds.
pub(crate) const BANK_TIMEOUT: &str = "PAYMENTS_BANK_TIMEOUT_MS";

/// What every handler can reach.
#[derive(Clone)]
pub(crate) struct App {
    guard: Guard,
    reads: ReadPool,
    pub(crate) bank: Bank,
}

impl App {
    /// Whether the tenant has an account of this name.
    pub(crate) async fn has_account(&self, tenant: &str, name: &str) -> Result<bool, AppError> {
        let mut connection = self.reads.acquire().await?;
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM accounts WHERE tenant = ?1 AND name = ?2")
            .bind(tenant)
            .bind(name)
            .fetch_one(&mut *connection)
            .await?;
        Ok(count == 1)
    }
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

/// Serves until Ctrl-C.
pub(crate) async fn run(flags: Flags, folder: PathBuf) -> Result<(), Box<dyn Error>> {
    let pool = open(&folder).await?;
    sqlx::raw_sql(accounts::TABLE).execute(&pool).await?;
    let guard = Guard::builder(pool).migrate().build().await?;
    let url = match std::env::var(BANK) {
        Ok(url) => url,
        Err(_) => Provider::start().await?.1,
    };
    let timeout = std::env::var(BANK_TIMEOUT).ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let bank = Bank::new(&url, Duration::from_millis(timeout))?;
    let app = App { guard: guard.clone(), reads: ReadPool::open(guard.pool()).await?, bank };
    let router = Router::new()
        .route("/accounts", post(accounts::create))
        .route("/payments", post(payments::charge))
        .with_state(app)
        .into_axum();
    if !flags.quiet {
        say(&format!("the provider is at {url}; cards: good, {}\n", crate::provider::CARDS.join(", ")));
    }
    serve(flags.listen, router, guard).await
}
