use axum::Json;
use idem_runtime::axum::{Router, post};
use idem_ui_tests::CreateOrder;

async fn create<T: Send + 'static>(_: Json<T>) -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().route("/orders", post(create::<CreateOrder>))
}

fn main() {}
