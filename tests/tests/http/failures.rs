//! What counts as a failure is the outcome, an `Err` or a status of 400 and above, whatever type it hides in.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use idem_runtime::axum::{Router, post as post_to};
use idem_runtime::{AnswerBody, Idempotency, Mutation, Status, idempotent};
use idem_tests::shop::{NewOrder, Shop, ShopError};
use idem_tests::{Fixture, on_every_database};

use crate::BOOK;
use crate::client::post;
use crate::site::Site;

/// A `Result` that the attribute cannot see as one.
type Answered<T> = Result<T, ShopError>;

#[idempotent(route = "ends.alias")]
async fn alias<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Answered<String> {
    F::effect(mutation, &order.name).await?;
    Err(ShopError::Refused(StatusCode::PAYMENT_REQUIRED))
}

#[idempotent(route = "ends.alias-2xx")]
async fn alias_with_a_good_status<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Answered<String> {
    F::effect(mutation, &order.name).await?;
    Err(ShopError::Refused(StatusCode::ACCEPTED))
}

#[idempotent(route = "ends.axum")]
async fn axum_result<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> axum::response::Result<String> {
    F::effect(mutation, &order.name).await.map_err(ShopError::Sql)?;
    Err((StatusCode::GONE, "gone"))?
}

#[idempotent(route = "ends.axum-2xx")]
async fn axum_result_with_a_good_status<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> axum::response::Result<String> {
    F::effect(mutation, &order.name).await.map_err(ShopError::Sql)?;
    Err("said without a status")?
}

#[idempotent(route = "ends.plain")]
async fn plain<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Response {
    F::effect(mutation, &order.name).await.unwrap();
    (StatusCode::CONFLICT, "taken").into_response()
}

#[idempotent(route = "ends.ok-4xx")]
async fn fine_with_a_bad_status<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Result<(StatusCode, &'static str), ShopError> {
    F::effect(mutation, &order.name).await?;
    Ok((StatusCode::IM_A_TEAPOT, "short and stout"))
}

#[idempotent(route = "ends.impl")]
async fn hidden<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> impl IntoResponse {
    F::effect(mutation, &order.name).await.unwrap();
    Err::<(), _>((StatusCode::OK, "an `Err` that looks fine"))
}

#[idempotent(route = "ends.redirect")]
async fn redirects<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Response {
    F::effect(mutation, &order.name).await.unwrap();
    (StatusCode::SEE_OTHER, [("location", "/orders/1")]).into_response()
}

const FAILING: [(&str, &str, u16, &str); 7] = [
    ("/alias", "ends.alias", 402, "refused"),
    ("/alias-2xx", "ends.alias-2xx", 202, "refused"),
    ("/axum", "ends.axum", 410, "gone"),
    ("/axum-2xx", "ends.axum-2xx", 200, "said without a status"),
    ("/plain", "ends.plain", 409, "taken"),
    ("/ok-4xx", "ends.ok-4xx", 418, "short and stout"),
    ("/impl", "ends.impl", 200, "an `Err` that looks fine"),
];

async fn site<F: Fixture>() -> Site<F> {
    let routes = Router::new()
        .route("/alias", post_to(alias::<F>))
        .route("/alias-2xx", post_to(alias_with_a_good_status::<F>))
        .route("/axum", post_to(axum_result::<F>))
        .route("/axum-2xx", post_to(axum_result_with_a_good_status::<F>))
        .route("/plain", post_to(plain::<F>))
        .route("/ok-4xx", post_to(fine_with_a_bad_status::<F>))
        .route("/impl", post_to(hidden::<F>))
        .route("/redirect", post_to(redirects::<F>));
    Site::of(routes).await
}

async fn a_failure_of_whatever_type_is_rolled_back_recorded_and_given_again<F: Fixture>() {
    let site = site::<F>().await;
    for (path, route, status, text) in FAILING {
        let first = site.send(post(path, "k", BOOK)).await;
        assert_eq!((first.status.as_u16(), &first.body[..]), (status, text.as_bytes()), "{path}");
        let record = site.record(route, "k").await.unwrap();
        assert_eq!((record.status, record.released_at), (Status::Failed, None), "{path}");
        assert_eq!(record.answer.unwrap().code, status, "{path}");
        site.send(post(path, "k", BOOK)).await.replays(&first);
    }
    assert_eq!(site.count("effects").await, 0);
}

async fn a_redirect_is_a_success<F: Fixture>() {
    let site = site::<F>().await;
    let first = site.send(post("/redirect", "k", BOOK)).await;
    let second = site.send(post("/redirect", "k", BOOK)).await;
    second.replays(&first);
    assert_eq!((second.status, second.header("location")), (StatusCode::SEE_OTHER, Some(&b"/orders/1"[..])));
    assert_eq!(site.record("ends.redirect", "k").await.unwrap().status, Status::Succeeded);
    assert_eq!(site.effects("book").await, 1);
}

/// As much as the guard of the next test keeps of a body.
const LIMIT: usize = 64;

fn long(status: StatusCode) -> Response {
    (status, [(header::LOCATION, "/help")], "x".repeat(LIMIT + 1)).into_response()
}

#[idempotent(route = "ends.long")]
async fn fails_at_length<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Result<String, Response> {
    F::effect(mutation, &order.name).await.unwrap();
    Err(long(StatusCode::CONFLICT))
}

#[idempotent(route = "ends.long-external")]
async fn fails_at_length_outside<F: Fixture>(
    idem: Idempotency<F::S>,
    State(shop): State<Shop<F>>,
    Json(order): Json<NewOrder>,
) -> Response {
    let mut provider = shop.guard.pool().acquire().await.unwrap();
    F::effect(&mut provider, &order.name).await.unwrap();
    long(StatusCode::BAD_GATEWAY)
}

async fn a_failure_over_the_limit_is_given_once_whole_and_replayed_without_its_body<F: Fixture>() {
    let routes = Router::new().route("/own", post_to(fails_at_length::<F>));
    let routes = routes.route("/other", post_to(fails_at_length_outside::<F>));
    let site = Site::<F>::built(|builder| builder.max_answer_bytes(LIMIT), |shop| shop.serves(routes)).await;
    let cases = [("/own", "ends.long", 409, 0), ("/other", "ends.long-external", 502, 1)];
    for (path, route, status, effects) in cases {
        let first = site.send(post(path, "k", BOOK)).await;
        assert_eq!((first.status.as_u16(), first.body.len()), (status, LIMIT + 1), "{path}");
        assert_eq!((first.is_replay(), first.header("idempotent-replay-body")), (false, None), "{path}");
        for _ in 0..2 {
            let again = site.send(post(path, "k", BOOK)).await;
            assert_eq!((again.status.as_u16(), again.body.len()), (status, 0), "{path}: {again:?}");
            assert!(again.is_replay(), "{path}: {again:?}");
            assert_eq!(again.header("idempotent-replay-body"), Some(&b"omitted"[..]), "{path}");
            for name in ["location", "content-type", "idempotency-key-expires"] {
                assert!(again.header(name).is_some(), "{path}: {name}");
                assert_eq!(again.header(name), first.header(name), "{path}: {name}");
            }
        }
        let record = site.record(route, "k").await.unwrap();
        assert_eq!((record.status, record.token.attempt), (Status::Failed, 1), "{path}");
        assert_eq!(record.answer.unwrap().body, AnswerBody::Omitted, "{path}");
        assert_eq!(site.effects("book").await, effects, "{path}: nothing ran again");
    }
}

on_every_database! {
    a_failure_over_the_limit_is_given_once_whole_and_replayed_without_its_body,
    a_failure_of_whatever_type_is_rolled_back_recorded_and_given_again,
    a_redirect_is_a_success,
}
