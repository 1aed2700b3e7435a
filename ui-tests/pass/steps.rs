//! A body whose effects outside are all steps.
#![deny(warnings)]

use idem_runtime::axum::{Router, post};
use idem_runtime::sqlite::{Idempotency, Mutation};
use idem_runtime::{DownstreamKey, Error, idempotent};
use idem_ui_tests::{App, AppError};

async fn charge(key: DownstreamKey, cents: u32) -> Result<u32, AppError> {
    std::future::ready(Ok(cents + u32::from(key.as_str().is_empty()))).await
}

#[idempotent(route = "trips.book", steps)]
async fn book(idem: &Idempotency, cents: u32) -> Result<u32, AppError> {
    let paid = idem.step("charge", async |key| charge(key, cents).await).await?;
    idem.step_in_transaction("note", async |mutation: &mut Mutation| {
        sqlx::query("INSERT INTO trips VALUES (1)").execute(&mut **mutation).await.map_err(|_| AppError::Other)?;
        Ok::<_, AppError>(())
    })
    .await?;
    Ok(paid)
}

#[idempotent(route = "trips.book-by-http", steps, retry_failed = true)]
async fn book_by_http(idem: Idempotency) -> Result<String, AppError> {
    let paid = idem.step("charge", async |key| charge(key, 5).await).await?;
    Ok(format!("{paid} in attempt {}", idem.attempt()))
}

fn main() {
    let _: Router<App> = Router::new().route("/trips", post(book_by_http));
    let _ = async |idem: &Idempotency| -> Result<u32, Error> { book(idem, 5).await.map_err(|_| Error::Failed) };
}
