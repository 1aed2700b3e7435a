use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};

#[idempotent(route = "orders.create", on_lapse = "refuse")]
async fn create_order(idem: Idempotency, mutation: &mut Mutation) -> String {
    String::new()
}

fn main() {}
