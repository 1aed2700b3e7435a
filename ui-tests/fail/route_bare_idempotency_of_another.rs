use idem_runtime::axum::{Router, post};
use idem_runtime::sqlite::Idempotency;
use idem_ui_tests::{App, Sender};

async fn paid(idem: Idempotency<Sender>) -> String {
    idem.key().to_string()
}

fn app() -> Router<App> {
    Router::new().route("/paid", post(paid))
}

fn main() {}
