use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;
use idem_ui_tests::AppError;

struct Clock;

#[idempotent(route = "orders.create")]
async fn create_order(idem: &Idempotency, clock: Clock) -> Result<String, AppError> {
    let _ = clock;
    Ok(String::new())
}

fn main() {}
