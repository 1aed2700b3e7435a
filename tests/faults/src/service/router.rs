//! All routes with their stances, the points around them, and the controls of the driver.

use std::sync::atomic::Ordering;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use idem_runtime::axum::{Router, exempt, post};

use super::app::App;
use super::rows::Rows;
use super::{control, writes};
use crate::plan::Point;

pub(crate) fn service<D: Rows>(app: App<D>, unguarded: bool) -> axum::Router {
    let router = if unguarded {
        let unguarded = exempt("the checker has to find what this doubles", writes::unguarded::<D>);
        Router::new().route("/orders", post(unguarded))
    } else {
        Router::new().route("/orders", post(writes::orders::<D>))
    };
    let router = router
        .route("/retries", post(writes::retries::<D>))
        .route("/events", post(writes::events::<D>))
        .route("/payments", post(writes::payments::<D>))
        .route("/refusals", post(writes::refusals::<D>))
        .route("/recoveries", post(writes::recoveries::<D>));
    let around = from_fn_with_state(app.clone(), points_around::<D>);
    router.with_state::<()>(app.clone()).into_axum().layer(around).merge(control::routes(app))
}

async fn points_around<D: Rows>(State(app): State<App<D>>, request: Request, next: Next) -> Response {
    app.points.reach(Point::BeforeClaim, "");
    let response = next.run(request).await;
    if response.status().is_success() && !response.headers().contains_key("idempotent-replayed") {
        let place = response.headers().get("location").and_then(|value| value.to_str().ok());
        app.points.reach(Point::AfterCommit, place.unwrap_or_default());
    }
    if response.status().is_server_error() {
        app.refusals.fetch_add(1, Ordering::SeqCst);
    }
    response
}
