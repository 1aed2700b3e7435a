use idem_runtime::axum::{Router, post};
use idem_runtime::sqlite::Idempotency;
use idem_ui_tests::App;

async fn create_cart(idem: Idempotency) -> &'static str {
    drop(idem);
    "created"
}

fn app() -> Router<App> {
    Router::new().route("/carts", post(create_cart))
}

fn main() {}
