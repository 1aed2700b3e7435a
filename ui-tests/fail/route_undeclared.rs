use idem_runtime::axum::{Router, post};

async fn create_cart() -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().route("/carts", post(create_cart))
}

fn main() {}
