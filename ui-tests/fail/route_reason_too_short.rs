use idem_runtime::axum::{Router, exempt, post, reason};

async fn create_cart() -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().route("/carts", post(exempt(reason!("cart"), create_cart)))
}

fn main() {}
