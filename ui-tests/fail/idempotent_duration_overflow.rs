use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create", ttl = "99999999999999999999d")]
async fn create_order(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
