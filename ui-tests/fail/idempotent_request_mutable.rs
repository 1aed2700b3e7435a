use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;
use idem_ui_tests::AppError;

#[idempotent(route = "orders.create")]
async fn create_order(idem: &mut Idempotency) -> Result<String, AppError> {
    Ok(String::new())
}

fn main() {}
