use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

trait Orders {
    #[idempotent(route = "orders.create")]
    async fn create(idem: Idempotency) -> String;
}

fn main() {}
