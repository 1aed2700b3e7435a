use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create", ttl = "1h", ttl = "2h")]
async fn create_order(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
