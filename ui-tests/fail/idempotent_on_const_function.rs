use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create")]
const fn create(idem: &Idempotency) -> Result<(), idem_runtime::Error> {
    Ok(())
}

fn main() {}
