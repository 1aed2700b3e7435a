use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create", lease = "1m", max_run = "30s")]
async fn create_order(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
