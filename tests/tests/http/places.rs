//! Handlers at work are bounded, and so is their queue; duplicates take no place away from others.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use idem_runtime::axum::{Router, post as post_to};
use idem_runtime::{Idempotency, idempotent};
use idem_tests::shop::{NewOrder, Place, Shop, ShopError, Stop};
use idem_tests::{Fixture, on_every_database};

use crate::client::{post, with};
use crate::site::Site;
use crate::{BOOK, soon};

const PEN: &str = r#"{"name":"pen"}"#;

async fn with_every_place_taken_duplicates_are_answered_one_request_queues_and_the_next_is_refused<
    F: Fixture,
>() {
    let site = Site::<F>::built(|builder| builder.max_detached(1), Shop::app).await;
    let done = site.send(post("/charges", "done", BOOK)).await;
    let first = site.sending(with(post("/charges", "first", BOOK), "x-stop", "body"));
    soon("the only place is taken", site.stage.reached(Place::Body, 1)).await;

    site.send(post("/charges", "first", BOOK)).await.is_in_progress();
    assert_eq!(site.send(post("/charges", "first", PEN)).await.code(), "IDEMPOTENCY_KEY_CONFLICT");
    site.send(post("/charges", "done", BOOK)).await.replays(&done);

    let mut asked = ["a", "b"].map(|key| (key, site.sending(post("/charges", key, BOOK))));
    let [one, other] = &mut asked;
    // Which of them comes to the queue first is chance.
    let (refused, told) = soon("there is room for one", async {
        tokio::select! {
            told = &mut one.1 => (one.0, told),
            told = &mut other.1 => (other.0, told),
        }
    })
    .await;
    let told = told.unwrap().unwrap();
    assert_eq!((told.status.as_u16(), told.code().as_str()), (503, "IDEMPOTENCY_STORE_UNAVAILABLE"));
    assert_eq!((told.retry_after(), &told.json()["retryable"]), (Some(1), &true.into()));
    assert_eq!(site.record("payments.charge", refused).await, None);
    assert_eq!(site.count("effects").await, 2);

    site.stage.open();
    assert_eq!(first.await.unwrap().unwrap().status, StatusCode::CREATED);
    let (_, queued) = asked.into_iter().find(|(key, _)| *key != refused).unwrap();
    let queued = soon("the queue moves on", queued).await.unwrap().unwrap();
    assert_eq!((queued.status, queued.is_replay()), (StatusCode::CREATED, false));
    let retry = site.send(post("/charges", refused, BOOK)).await;
    assert_eq!((retry.status, retry.is_replay()), (StatusCode::CREATED, false));
    assert_eq!(site.count("effects").await, 4);
}

#[idempotent(route = "places.patient", wait = "60s", lease = "2m")]
async fn patient<F: Fixture>(
    idem: Idempotency<F::S>,
    State(shop): State<Shop<F>>,
    stop: Stop,
    Json(order): Json<NewOrder>,
) -> Result<String, ShopError> {
    stop.at(Place::Body, &shop.stage).await;
    Ok(order.name)
}

async fn duplicates_that_wait_for_a_slow_twin_leave_the_places_to_others<F: Fixture>() {
    let routes = Router::new().route("/", post_to(patient::<F>));
    let site = Site::<F>::built(|builder| builder.max_detached(2), |shop| shop.serves(routes)).await;
    let first = site.sending(with(post("/", "k", BOOK), "x-stop", "body"));
    soon("the twin", site.stage.reached(Place::Body, 1)).await;
    let duplicates: Vec<_> = (0..20).map(|_| site.sending(post("/", "k", BOOK))).collect();
    soon("its duplicates", site.stage.reached(Place::Arrived, 21)).await;
    for key in ["a", "b", "c"] {
        let other = soon("another request", site.send(post("/", key, PEN))).await;
        assert_eq!((other.status, &other.body[..]), (StatusCode::OK, &b"pen"[..]), "{other:?}");
    }
    assert!(duplicates.iter().all(|duplicate| !duplicate.is_finished()), "they wait");

    site.stage.open();
    let first = first.await.unwrap().unwrap();
    for duplicate in duplicates {
        soon("the answer of the twin", duplicate).await.unwrap().unwrap().replays(&first);
    }
}

on_every_database! {
    with_every_place_taken_duplicates_are_answered_one_request_queues_and_the_next_is_refused,
    duplicates_that_wait_for_a_slow_twin_leave_the_places_to_others,
}
