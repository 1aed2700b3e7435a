use idem_runtime::axum::{Router, any};

async fn create_cart() -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().route("/carts", any(create_cart))
}

fn main() {}
