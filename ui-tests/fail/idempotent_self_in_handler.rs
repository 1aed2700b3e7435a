use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

struct Orders;

impl Orders {
    #[idempotent(route = "orders.create")]
    async fn create(&self, idem: Idempotency) -> String {
        String::new()
    }
}

fn main() {}
