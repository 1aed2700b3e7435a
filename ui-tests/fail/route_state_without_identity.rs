use idem_runtime::axum::{Router, post};
use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;

#[derive(Clone)]
struct Bare;

#[idempotent(route = "carts.create")]
async fn create_cart(idem: Idempotency) -> &'static str {
    "created"
}

fn app() -> Router<Bare> {
    Router::new().route("/carts", post(create_cart))
}

fn main() {}
