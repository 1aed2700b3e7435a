use idem_runtime::axum::{Router, post};

fn app() -> Router {
    Router::new().route("/carts", post(|| async { "created" }))
}

fn main() {}
