use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

struct Orders;

impl Orders {
    #[idempotent(route = "orders.create")]
    async fn create_order(self, idem: Idempotency) -> Result<i64, idem_runtime::Error> {
        Ok(1)
    }
}

fn main() {}
