use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[idempotent(route = "orders.create")]
async fn create_order(idem: Idempotency) -> String {
    let held = std::rc::Rc::new(1);
    std::future::ready(()).await;
    held.to_string()
}

fn main() {}
