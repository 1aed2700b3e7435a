use axum::handler::Handler;
use axum::middleware::map_response;
use axum::response::Response;
use idem_runtime::axum::{Router, post};

async fn create_cart() -> &'static str {
    "created"
}

async fn same(response: Response) -> Response {
    response
}

fn app() -> Router {
    Router::new().route("/carts", post(create_cart.layer(map_response(same))))
}

fn main() {}
