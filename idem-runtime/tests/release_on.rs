//! Which errors release a claim, as `release_on` says it.
#![cfg(feature = "sqlite")]

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::sqlite::{Guard, Idempotency};
use idem_runtime::{Error, IdempotencyKey, Scope, idempotent};

static RUNS: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
enum AppError {
    Busy,
    Declined,
    Guard,
}

impl From<Error> for AppError {
    fn from(_: Error) -> Self {
        Self::Guard
    }
}

fn is_busy(error: &AppError) -> bool {
    matches!(error, AppError::Busy)
}

#[idempotent(route = "scratch.pay", release_on = is_busy, fingerprint(skip(error)))]
async fn pay(idem: &Idempotency, error: AppError) -> Result<(), AppError> {
    RUNS.fetch_add(1, Ordering::SeqCst);
    Err(std::future::ready(error).await)
}

#[idempotent(route = "scratch.pay-closure", release_on = |error| matches!(error, AppError::Busy), fingerprint(skip(error)))]
async fn pay_closure(idem: &Idempotency, error: AppError) -> Result<(), AppError> {
    RUNS.fetch_add(1, Ordering::SeqCst);
    Err(std::future::ready(error).await)
}

#[tokio::test]
async fn an_error_that_the_predicate_denies_is_final_and_one_that_it_names_is_not() {
    let pool =
        sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await.unwrap();
    let guard = Guard::builder(pool).migrate().build().await.unwrap();
    let idem = guard.request(Scope::new("acme", "ada").unwrap(), IdempotencyKey::new("k").unwrap());
    for (error, runs) in
        [(AppError::Busy, 1), (AppError::Busy, 2), (AppError::Declined, 3), (AppError::Busy, 3)]
    {
        let closure = match error {
            AppError::Busy => AppError::Busy,
            _ => AppError::Declined,
        };
        pay(&idem, error).await.unwrap_err();
        pay_closure(&idem, closure).await.unwrap_err();
        assert_eq!(RUNS.load(Ordering::SeqCst), 2 * runs);
    }
}
