use axum::extract::{FromRequest, Request};
use idem_runtime::axum::{Router, post};
use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;
use idem_ui_tests::App;

struct Own;

impl<S: Sync> FromRequest<S> for Own {
    type Rejection = ();

    async fn from_request(_: Request, _: &S) -> Result<Self, ()> {
        Ok(Self)
    }
}

#[idempotent(route = "orders.create")]
async fn create_order(idem: Idempotency, own: Own) -> String {
    String::new()
}

fn app() -> Router<App> {
    Router::new().route("/orders", post(create_order))
}

fn main() {}
