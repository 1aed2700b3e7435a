use idem_runtime::axum::{Router, post};

fn app() -> Router {
    Router::new().route("/carts", post(idem_ui_tests::foreign_handler))
}

fn main() {}
