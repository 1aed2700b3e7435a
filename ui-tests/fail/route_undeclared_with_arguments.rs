use axum::Json;
use axum::extract::State;
use idem_runtime::axum::{Router, post};
use idem_ui_tests::{App, CreateOrder};

async fn create_order(State(_): State<App>, Json(order): Json<CreateOrder>) -> String {
    order.sku
}

fn app() -> Router<App> {
    Router::new().route("/orders", post(create_order))
}

fn main() {}
