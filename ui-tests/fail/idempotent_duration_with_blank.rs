use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create", lease = "5 min")]
async fn create_order(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
