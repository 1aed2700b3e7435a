use idem_runtime::axum::{Router, put};

async fn create_cart() -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().route("/carts", put(create_cart))
}

fn main() {}
