use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create", bind(job_id = 1))]
async fn create_order(idem: Idempotency) -> String {
    String::new()
}

fn main() {}
