use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};

#[idempotent(route = "orders.create")]
async fn create_order(idem: Idempotency, mutation: &mut Mutation) -> String {
    mutation.bind_task("t1");
    idem.downstream_key("charge").to_string()
}

fn main() {}
