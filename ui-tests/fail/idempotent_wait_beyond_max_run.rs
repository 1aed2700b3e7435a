use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create", wait = "2m", max_run = "1m")]
async fn create_order(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
