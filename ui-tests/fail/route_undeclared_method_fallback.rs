use idem_runtime::axum::{Router, get};

async fn create_cart() -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().route("/carts", get(create_cart).fallback(create_cart))
}

fn main() {}
