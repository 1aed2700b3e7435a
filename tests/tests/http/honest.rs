//! What an answer may not hide or pretend: marks, missing keys, failures that cannot be kept, bindings.

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http_body_util::{BodyExt, Full};
use idem_runtime::axum::{Delegated, Router, post as post_to};
use idem_runtime::{Idempotency, Mutation, Status, idempotent};
use idem_tests::shop::{NewOrder, Place, Shop, ShopError, Stop};
use idem_tests::{Fixture, on_every_database};
use serde::Serialize;

use crate::BOOK;
use crate::client::{post, with};
use crate::site::Site;

#[idempotent(route = "honest.order")]
async fn order<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> String {
    F::effect(mutation, &order.name).await.unwrap();
    order.name
}

async fn a_missing_key_is_refused_before_the_body_is_looked_at<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(order::<F>))).await;
    for json in ["{}", "{", r#"{"name":7}"#] {
        let mut call = post("/", "k", json);
        call.headers_mut().remove("idempotency-key");
        assert_eq!(site.send(call).await.code(), "IDEMPOTENCY_KEY_REQUIRED", "{json}");
    }
}

#[idempotent(route = "honest.streamed-err")]
async fn streamed_err<F: Fixture>(idem: Idempotency<F::S>) -> Result<String, Response> {
    let body = stream::iter([Ok::<_, std::convert::Infallible>(Bytes::from_static(b"no"))]);
    Err((StatusCode::BAD_GATEWAY, Body::from_stream(body)).into_response())
}

async fn an_external_failure_that_cannot_be_kept_is_still_a_failure<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(streamed_err::<F>))).await;
    site.send(post("/", "k", "")).await;
    let record = site.record("honest.streamed-err", "k").await.unwrap();
    assert_eq!((record.status, record.outcome_unknown), (Status::Failed, false));
}

#[idempotent(route = "honest.forwards")]
async fn forwards<F: Fixture>(idem: Idempotency<F::S>) -> Response {
    let upstream = [("idempotent-replayed", "true"), ("idempotent-replay-body", "omitted")];
    (upstream, "x").into_response()
}

async fn a_first_answer_never_carries_the_marks_of_a_replay<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(forwards::<F>))).await;
    let first = site.send(post("/", "k", "")).await;
    assert_eq!((first.header("idempotent-replayed"), first.header("idempotent-replay-body")), (None, None));
}

async fn forgets<F: Fixture>(_idem: Delegated<F::S>) -> &'static str {
    "done"
}

async fn a_declared_handler_that_never_claims_is_answered_500<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(forgets::<F>))).await;
    assert_eq!(site.send(post("/", "k", "")).await.status, StatusCode::INTERNAL_SERVER_ERROR);
}

#[idempotent(route = "honest.place")]
async fn place<F: Fixture>(
    idem: &Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
) -> Result<i64, ShopError> {
    F::effect(mutation, "place").await?;
    Ok(mutation.attempt())
}

async fn places<F: Fixture>(idem: Delegated<F::S>) -> Result<Json<i64>, ShopError> {
    Ok(Json(place::<F>(&idem).await?))
}

async fn a_replay_through_a_delegating_handler_says_so<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(places::<F>))).await;
    assert!(!site.send(post("/", "k", "")).await.is_replay());
    assert!(site.send(post("/", "k", "")).await.is_replay());
}

#[idempotent(route = "honest.inner", fingerprint(skip(shop, stop)))]
async fn inner<F: Fixture>(
    idem: &Idempotency<F::S>,
    shop: &Shop<F>,
    stop: &Stop,
) -> Result<String, ShopError> {
    stop.at(Place::Body, &shop.stage).await;
    Ok("inner".to_owned())
}

#[idempotent(route = "honest.outer", release_on(ShopError::Busy), fingerprint(skip(shop, stop)))]
async fn outer<F: Fixture>(
    idem: &Idempotency<F::S>,
    shop: &Shop<F>,
    stop: &Stop,
) -> Result<String, ShopError> {
    let child = idem.child("line");
    if stop.is_at(Place::Body) {
        let (shop, stop) = (shop.clone(), stop.clone());
        let stage = shop.stage.clone();
        tokio::spawn(async move { inner::<F>(&child, &shop, &stop).await });
        stage.reached(Place::Body, 1).await;
        return Err(ShopError::Busy);
    }
    inner::<F>(&child, shop, stop).await
}

async fn delegates<F: Fixture>(
    idem: Delegated<F::S>,
    State(shop): State<Shop<F>>,
    stop: Stop,
) -> Result<String, ShopError> {
    outer::<F>(&idem, &shop, &stop).await
}

async fn an_inner_operation_in_progress_is_no_failure_of_a_service_either<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(delegates::<F>))).await;
    site.send(with(post("/", "k", ""), "x-stop", "body")).await;
    let told = site.send(post("/", "k", "")).await;
    told.is_in_progress();
    assert_eq!(told.json()["retryable"], true);
    site.stage.open();
    crate::until("the same request, sent again, gets an answer", async || {
        let again = site.send(post("/", "k", "")).await;
        assert_ne!(again.code(), "IDEMPOTENCY_FAILED", "it was told to come again");
        again.status == StatusCode::OK
    })
    .await;
}

#[derive(Serialize)]
struct Task {
    task_id: String,
}

#[idempotent(route = "honest.bound", bind = task_id)]
async fn bound<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Json<Task> {
    F::effect(mutation, "bound").await.unwrap();
    Json(Task { task_id: order.name })
}

#[idempotent(route = "honest.bound-external", bind = task_id)]
async fn bound_external<F: Fixture>(idem: Idempotency<F::S>, Json(order): Json<NewOrder>) -> Json<Task> {
    Json(Task { task_id: order.name })
}

/// Empty, over 255 bytes, or with a NUL, which PostgreSQL cannot hold and SQLite can.
async fn a_binding_that_no_column_can_hold_is_a_clear_mistake<F: Fixture>() {
    let routes = Router::new().route("/own", post_to(bound::<F>));
    let site = Site::<F>::of(routes.route("/other", post_to(bound_external::<F>))).await;
    let long = "x".repeat(256);
    for (key, name) in [("empty", ""), ("long", &long), ("nul", "a\\u0000b")] {
        let json = format!(r#"{{"name":"{name}"}}"#);
        let own = site.send(post("/own", key, &json)).await;
        assert_eq!((own.code().as_str(), own.retry_after()), ("IDEMPOTENCY_MISUSE", None), "{key}: {own:?}");
        site.send(post("/other", key, &json)).await;
        let again = site.send(post("/other", key, &json)).await;
        assert_eq!(again.code(), "IDEMPOTENCY_OUTCOME_UNKNOWN", "{key}");
    }
}

#[idempotent(route = "honest.trailers")]
async fn trailers<F: Fixture>(idem: Idempotency<F::S>) -> Response {
    let sums = HeaderMap::from_iter([("x-sum".parse().unwrap(), HeaderValue::from_static("1"))]);
    let body = Full::new(Bytes::from_static(b"abc")).with_trailers(std::future::ready(Some(Ok(sums))));
    ([("trailer", "x-sum")], Body::new(body)).into_response()
}

async fn an_answer_whose_trailers_are_lost_does_not_announce_them<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(trailers::<F>))).await;
    assert_eq!(site.send(post("/", "k", BOOK)).await.header("trailer"), None);
}

on_every_database! {
    a_missing_key_is_refused_before_the_body_is_looked_at,
    an_external_failure_that_cannot_be_kept_is_still_a_failure,
    a_first_answer_never_carries_the_marks_of_a_replay,
    a_declared_handler_that_never_claims_is_answered_500,
    a_replay_through_a_delegating_handler_says_so,
    an_inner_operation_in_progress_is_no_failure_of_a_service_either,
    a_binding_that_no_column_can_hold_is_a_clear_mistake,
    an_answer_whose_trailers_are_lost_does_not_announce_them,
}
