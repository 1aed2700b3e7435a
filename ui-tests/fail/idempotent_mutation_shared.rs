use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};

#[idempotent(route = "orders.create")]
async fn create_order(idem: Idempotency, mutation: &Mutation) -> String {
    String::new()
}

fn main() {}
