use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create")]
const async fn create(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
