use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "Orders.Create")]
async fn create_order(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
