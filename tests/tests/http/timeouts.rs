//! A time-out outside the guard loses an answer, never the truth; one inside the body is the body's failure.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use idem_runtime::axum::{Router, post as post_to};
use idem_runtime::{Idempotency, Mutation, Status, idempotent};
use idem_tests::shop::{NewOrder, Place, Shop, ShopError};
use idem_tests::{Fixture, on_every_database};
use tower_http::timeout::TimeoutLayer;

use crate::client::{post, with};
use crate::site::Site;
use crate::{BOOK, CHARGES, ORDERS, soon, until};

async fn a_time_out_around_the_route_answers_408_and_the_retry_gets_the_true_answer<F: Fixture>() {
    for (path, route) in [ORDERS, CHARGES] {
        let site = Site::<F>::serving(|shop| {
            let limit = Duration::from_millis(500);
            shop.app().layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, limit))
        })
        .await;
        let late = site.send(with(post(path, "k", BOOK), "x-stop", "body")).await;
        assert_eq!(late.status, StatusCode::REQUEST_TIMEOUT);
        assert_eq!(late.body, "");
        soon("the body runs on", site.stage.reached(Place::Body, 1)).await;
        site.send(post(path, "k", BOOK)).await.is_in_progress();

        site.stage.open();
        until("the operation ends", async || {
            site.record(route, "k").await.is_some_and(|record| record.status == Status::Succeeded)
        })
        .await;
        let retry = site.send(post(path, "k", BOOK)).await;
        assert_eq!((retry.status, retry.is_replay()), (StatusCode::CREATED, true), "{retry:?}");
        assert_eq!(site.count("effects").await, 1);
    }
}

#[idempotent(route = "orders.impatient")]
async fn impatient<F: Fixture>(
    idem: Idempotency<F::S>,
    State(_shop): State<Shop<F>>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Result<Response, ShopError> {
    F::effect(mutation, &order.name).await?;
    let partner = std::future::pending();
    tokio::time::timeout(Duration::from_millis(1), partner).await.map_err(|_| ShopError::TimedOut)
}

#[idempotent(route = "orders.patient", release_on(ShopError::TimedOut))]
async fn patient<F: Fixture>(
    idem: Idempotency<F::S>,
    State(_shop): State<Shop<F>>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Result<String, ShopError> {
    F::effect(mutation, &order.name).await?;
    if mutation.attempt() == 1 {
        let partner = std::future::pending();
        return tokio::time::timeout(Duration::from_millis(1), partner)
            .await
            .map_err(|_| ShopError::TimedOut);
    }
    Ok("at last".to_owned())
}

async fn a_time_out_in_the_body_is_a_failure_that_is_rolled_back_and_recorded<F: Fixture>() {
    let routes = Router::new().route("/impatient", post_to(impatient::<F>));
    let site = Site::<F>::of(routes.route("/patient", post_to(patient::<F>))).await;
    let first = site.send(post("/impatient", "k", BOOK)).await;
    assert_eq!((first.status, &first.body[..]), (StatusCode::GATEWAY_TIMEOUT, &b"timed out"[..]));
    let record = site.record("orders.impatient", "k").await.unwrap();
    assert_eq!((record.status, record.released_at), (Status::Failed, None));
    assert_eq!(site.effects("book").await, 0);
    site.send(post("/impatient", "k", BOOK)).await.replays(&first);

    let released = site.send(post("/patient", "k", BOOK)).await;
    assert_eq!(released.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(site.effects("book").await, 0);
    let second = site.send(post("/patient", "k", BOOK)).await;
    assert_eq!((second.status, second.is_replay()), (StatusCode::OK, false), "{second:?}");
    assert_eq!(site.effects("book").await, 1);
}

on_every_database! {
    a_time_out_around_the_route_answers_408_and_the_retry_gets_the_true_answer,
    a_time_out_in_the_body_is_a_failure_that_is_rolled_back_and_recorded,
}
