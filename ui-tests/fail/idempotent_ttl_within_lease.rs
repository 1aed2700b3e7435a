use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create", ttl = "30s", lease = "1m")]
async fn create_order(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
