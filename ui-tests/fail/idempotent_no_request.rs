use idem_runtime::idempotent;

#[idempotent(route = "orders.create")]
async fn create_order(sku: String) -> String {
    sku
}

fn main() {}
