use axum::Form;
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};
use idem_ui_tests::CreateOrder;

#[idempotent(route = "orders.create", fingerprint(ignore("/sent_at", "/tries")))]
async fn create_order(idem: Idempotency, mutation: &mut Mutation, Form(order): Form<CreateOrder>) -> String {
    format!("{} {}", order.sku, mutation.attempt())
}

fn main() {}
