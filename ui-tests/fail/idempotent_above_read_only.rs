use idem_runtime::sqlite::Idempotency;
use idem_runtime::{idempotent, read_only};

#[idempotent(route = "orders.find")]
#[read_only]
async fn find(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
