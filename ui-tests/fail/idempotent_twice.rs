use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create")]
#[idempotent(route = "orders.place")]
async fn create_order(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
