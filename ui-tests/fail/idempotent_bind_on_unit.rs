use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create", bind = task_id)]
async fn create_order(idem: &Idempotency) -> Result<(), idem_runtime::Error> {
    Ok(())
}

fn main() {}
