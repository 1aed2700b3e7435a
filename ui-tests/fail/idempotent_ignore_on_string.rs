use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create", fingerprint(ignore("/sent_at")))]
async fn create_order(idem: Idempotency, body: String) -> String {
    body
}

fn main() {}
