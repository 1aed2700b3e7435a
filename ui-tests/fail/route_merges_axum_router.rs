use idem_runtime::axum::Router;

async fn create_cart() -> &'static str {
    "created"
}

fn app() -> Router {
    Router::new().merge(axum::Router::new().route("/carts", axum::routing::post(create_cart)))
}

fn main() {}
