use idem_runtime::axum::{MethodFilter, Router, on};

async fn create_cart() -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().route("/carts", on(MethodFilter::POST, create_cart))
}

fn main() {}
