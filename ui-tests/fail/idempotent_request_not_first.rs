use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create")]
async fn create_order(sku: String, idem: Idempotency) -> String {
    sku
}

fn main() {}
