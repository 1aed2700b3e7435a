use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;
use idem_ui_tests::AppError;

#[idempotent(route = "orders.create", fingerprint(skip(sk)))]
async fn create_order(idem: &Idempotency, sku: String) -> Result<String, AppError> {
    Ok(sku)
}

fn main() {}
