use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(retry_failed = true)]
async fn create_order(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
