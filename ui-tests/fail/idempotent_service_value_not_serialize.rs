use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;
use idem_ui_tests::AppError;

struct Order;

#[idempotent(route = "orders.create")]
async fn create_order(idem: &Idempotency) -> Result<Order, AppError> {
    Ok(Order)
}

fn main() {}
