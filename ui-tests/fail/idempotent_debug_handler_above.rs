use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};
use idem_ui_tests::App;

#[axum::debug_handler(state = App)]
#[idempotent(route = "orders.create")]
async fn create_order(idem: Idempotency, mutation: &mut Mutation) -> String {
    mutation.attempt().to_string()
}

fn main() {}
