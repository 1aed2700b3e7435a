use idem_runtime::axum::{Router, patch};

async fn create_cart() -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().route("/carts", patch(create_cart))
}

fn main() {}
