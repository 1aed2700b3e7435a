use idem_runtime::idempotent;

#[idempotent(route = "orders.create")]
struct Order;

fn main() {}
