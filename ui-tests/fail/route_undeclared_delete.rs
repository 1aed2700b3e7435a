use idem_runtime::axum::{Router, delete};

async fn create_cart() -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().route("/carts", delete(create_cart))
}

fn main() {}
