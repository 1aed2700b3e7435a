#![allow(unused_variables)]

use idem_runtime::sqlite::Idempotency;
use idem_runtime::idempotent;
use idem_ui_tests::AppError;

fn is_busy(error: &AppError) -> bool {
    matches!(error, AppError::Busy)
}

#[idempotent(route = "orders.create", on_lapse = "rerun", release_on(is_busy))]
async fn create(idem: &Idempotency) -> Result<(), AppError> {
    let _ = is_busy(&AppError::Busy);
    Ok(())
}

fn main() {}
