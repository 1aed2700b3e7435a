use idem_runtime::idempotent;

#[idempotent(route = "orders.create")]
trait Orders {}

fn main() {}
