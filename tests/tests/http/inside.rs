//! Guarded service functions: behind a handler that delegates, and inside a handler that is guarded itself.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use idem_runtime::axum::{Delegated, Router, post as post_to};
use idem_runtime::{Idempotency, Mutation, Status, idempotent};
use idem_tests::shop::{NewOrder, Place, Shop, ShopError, Stop};
use idem_tests::{Fixture, on_every_database};

use crate::client::{post, with};
use crate::site::Site;
use crate::{BOOK, soon, until};

/// A service that writes to our own database.
#[idempotent(route = "inside.place", status = 201)]
async fn place<F: Fixture>(
    idem: &Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    name: &str,
) -> Result<String, ShopError> {
    F::effect(mutation, name).await?;
    match name {
        "refused" => Err(ShopError::Refused(StatusCode::FORBIDDEN)),
        _ => Ok(format!("{name}, attempt {}", mutation.attempt())),
    }
}

/// A service of somebody else.
#[idempotent(route = "inside.deliver", fingerprint(skip(shop, stop)))]
async fn deliver<F: Fixture>(
    idem: &Idempotency<F::S>,
    shop: &Shop<F>,
    stop: &Stop,
    name: &str,
) -> Result<String, ShopError> {
    let mut provider = shop.guard.pool().acquire().await?;
    F::effect(&mut provider, "delivered").await?;
    drop(provider);
    stop.at(Place::Body, &shop.stage).await;
    Ok(format!("{name} delivered, attempt {}", idem.attempt()))
}

async fn delegates_to_place<F: Fixture>(
    idem: Delegated<F::S>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, String), ShopError> {
    Ok((StatusCode::CREATED, place::<F>(&idem, &order.name).await?))
}

async fn delegates_to_deliver<F: Fixture>(
    idem: Delegated<F::S>,
    State(shop): State<Shop<F>>,
    stop: Stop,
    Json(order): Json<NewOrder>,
) -> Result<String, ShopError> {
    deliver::<F>(&idem, &shop, &stop, &order.name).await
}

/// Has it delivered; told to stop in the body, it gives up while the delivery is at work.
#[idempotent(route = "inside.ship", release_on(ShopError::Busy))]
async fn ship<F: Fixture>(
    idem: Idempotency<F::S>,
    State(shop): State<Shop<F>>,
    stop: Stop,
    Json(order): Json<NewOrder>,
) -> Result<String, ShopError> {
    let line = idem.child("line-1");
    if stop.is_at(Place::Body) {
        let stage = shop.stage.clone();
        tokio::spawn(async move { deliver::<F>(&line, &shop, &stop, &order.name).await });
        stage.reached(Place::Body, 1).await;
        return Err(ShopError::Busy);
    }
    deliver::<F>(&line, &shop, &stop, &order.name).await
}

/// Places two orders, and is busy between them at its first attempt.
#[idempotent(route = "inside.pair", release_on(ShopError::Busy))]
async fn pair<F: Fixture>(idem: Idempotency<F::S>, Json(order): Json<NewOrder>) -> Result<String, ShopError> {
    let one = place::<F>(&idem.child("one"), &order.name).await?;
    if idem.attempt() == 1 {
        return Err(ShopError::Busy);
    }
    let two = place::<F>(&idem.child("two"), &order.name).await?;
    Ok(format!("{one}; {two}"))
}

/// Opens an operation inside its transaction, which is a mistake.
#[idempotent(route = "inside.nested")]
async fn nested<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Result<String, ShopError> {
    F::effect(mutation, "outer").await?;
    place::<F>(&idem.child("inner"), &order.name).await
}

async fn site<F: Fixture>() -> Site<F> {
    let routes = Router::new()
        .route("/place", post_to(delegates_to_place::<F>))
        .route("/deliver", post_to(delegates_to_deliver::<F>))
        .route("/ship", post_to(ship::<F>))
        .route("/pair", post_to(pair::<F>))
        .route("/nested", post_to(nested::<F>));
    Site::of(routes).await
}

async fn a_handler_that_delegates_runs_its_service_once<F: Fixture>() {
    let site = site::<F>().await;
    let first = site.send(post("/place", "k", BOOK)).await;
    assert_eq!((first.status, &first.body[..]), (StatusCode::CREATED, &b"book, attempt 1"[..]));
    let second = site.send(post("/place", "k", BOOK)).await;
    assert_eq!((second.status, &second.body), (first.status, &first.body));
    assert_eq!(site.send(post("/place", "k", r#"{"name":"pen"}"#)).await.code(), "IDEMPOTENCY_KEY_CONFLICT");
    let record = site.record("inside.place", "k").await.unwrap();
    assert_eq!((record.status, record.answer.unwrap().code), (Status::Succeeded, 201));
    assert_eq!(site.count("effects").await, 1);

    let refused = r#"{"name":"refused"}"#;
    assert_eq!(site.send(post("/place", "r", refused)).await.status, StatusCode::FORBIDDEN);
    assert_eq!(site.send(post("/place", "r", refused)).await.code(), "IDEMPOTENCY_FAILED");
    assert_eq!(site.count("effects").await, 1);
}

async fn a_handler_that_delegates_hands_on_what_the_guard_refuses<F: Fixture>() {
    let site = site::<F>().await;
    let mut keyless = post("/deliver", "k", BOOK);
    keyless.headers_mut().remove("idempotency-key");
    assert_eq!(site.send(keyless).await.code(), "IDEMPOTENCY_KEY_REQUIRED");
    let first = site.sending(with(post("/deliver", "k", BOOK), "x-stop", "body"));
    soon("the delivery", site.stage.reached(Place::Body, 1)).await;
    site.send(post("/deliver", "k", BOOK)).await.is_in_progress();
    site.stage.open();
    let first = first.await.unwrap().unwrap();
    assert_eq!(site.send(post("/deliver", "k", BOOK)).await.body, first.body);
    assert_eq!(site.effects("delivered").await, 1);
}

async fn an_inner_operation_in_progress_is_handed_on_and_not_recorded_as_a_failure<F: Fixture>() {
    let site = site::<F>().await;
    let busy = site.send(with(post("/ship", "k", BOOK), "x-stop", "body")).await;
    assert_eq!(busy.status, StatusCode::SERVICE_UNAVAILABLE);
    for attempt in [2, 3] {
        site.send(post("/ship", "k", BOOK)).await.is_in_progress();
        let outer = site.record("inside.ship", "k").await.unwrap();
        assert_eq!((outer.status, outer.token.attempt), (Status::Failed, attempt));
        assert!(outer.released_at.is_some() && outer.answer.is_none(), "{outer:?}");
    }
    site.stage.open();
    let succeeded = "idempotency_records WHERE route = 'inside.deliver' AND status = 'succeeded'";
    until("the delivery ends", async || site.count(succeeded).await == 1).await;
    let answer = site.send(post("/ship", "k", BOOK)).await;
    assert_eq!(&answer.body[..], b"book delivered, attempt 1");
    site.send(post("/ship", "k", BOOK)).await.replays(&answer);
    assert_eq!(site.effects("delivered").await, 1);
}

async fn what_an_earlier_attempt_did_inside_is_not_done_again<F: Fixture>() {
    let site = site::<F>().await;
    assert_eq!(site.send(post("/pair", "k", BOOK)).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(site.effects("book").await, 1);
    let answer = site.send(post("/pair", "k", BOOK)).await;
    assert_eq!(&answer.body[..], b"book, attempt 1; book, attempt 1");
    site.send(post("/pair", "k", BOOK)).await.replays(&answer);
    assert_eq!(site.effects("book").await, 2);
}

async fn an_operation_inside_a_transaction_is_refused_and_all_rolled_back<F: Fixture>() {
    let site = site::<F>().await;
    let refused = site.send(post("/nested", "k", BOOK)).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (500, "IDEMPOTENCY_MISUSE"));
    site.send(post("/nested", "k", BOOK)).await.replays(&refused);
    assert_eq!((site.count("effects").await, site.count("idempotency_records").await), (0, 1));
}

on_every_database! {
    a_handler_that_delegates_runs_its_service_once,
    a_handler_that_delegates_hands_on_what_the_guard_refuses,
    an_inner_operation_in_progress_is_handed_on_and_not_recorded_as_a_failure,
    what_an_earlier_attempt_did_inside_is_not_done_again,
    an_operation_inside_a_transaction_is_refused_and_all_rolled_back,
}
