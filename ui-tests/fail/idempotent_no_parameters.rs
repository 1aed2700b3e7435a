use idem_runtime::idempotent;

#[idempotent(route = "orders.create")]
async fn create_order() -> String {
    String::new()
}

fn main() {}
