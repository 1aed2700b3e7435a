use idem_runtime::axum::{MethodFilter, Router, get};

async fn create_cart() -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().route("/carts", get(create_cart).on(MethodFilter::POST, create_cart))
}

fn main() {}
