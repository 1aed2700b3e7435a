use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create")]
async fn create_order(idem: &Idempotency, sku: String) {
    drop(sku);
}

fn main() {}
