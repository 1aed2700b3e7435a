use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

struct Failed;

#[idempotent(route = "orders.create")]
async fn create_order(idem: &Idempotency) -> Result<String, Failed> {
    Err(Failed)
}

fn main() {}
