//! Each refusal of ours is a problem of RFC 9457 that says what it is and whether to come again.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::Method;
use futures_util::stream;
use idem_runtime::axum::{Router, post as post_to};
use idem_runtime::{Idempotency, Keyring, Mutation, Secret, idempotent};
use idem_tests::shop::{NewOrder, Place, Shop, ShopError, Stop};
use idem_tests::{Fixture, on_every_database};
use serde_json::Value;

use crate::client::{Answer, Call, body, keyed, post, with};
use crate::site::Site;
use crate::{BOOK, soon};

#[idempotent(route = "problems.order")]
async fn order<F: Fixture>(
    idem: Idempotency<F::S>,
    State(shop): State<Shop<F>>,
    stop: Stop,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Result<String, ShopError> {
    F::effect(mutation, &order.name).await?;
    stop.at(Place::Body, &shop.stage).await;
    assert_ne!(order.name, "panic", "as the test asks for");
    Ok(order.name)
}

#[idempotent(route = "problems.stream")]
async fn streams<F: Fixture>(idem: Idempotency<F::S>) -> Body {
    Body::from_stream(stream::iter([Ok::<_, std::convert::Infallible>("of unknown length")]))
}

async fn site<F: Fixture>() -> Site<F> {
    let secret = Secret::new("s1", &[7; 32]).unwrap();
    let routes = Router::new().route("/orders", post_to(order::<F>)).route("/streams", post_to(streams::<F>));
    Site::built(|builder| builder.keyring(Keyring::new(secret)), |shop| shop.serves(routes)).await
}

/// What a problem has to say.
struct Expected {
    status: u16,
    title: &'static str,
    code: &'static str,
    detail: &'static str,
    retryable: bool,
}

impl Expected {
    const fn new(status: u16, title: &'static str, code: &'static str, detail: &'static str) -> Self {
        Self { status, title, code, detail, retryable: false }
    }

    const fn retryable(self) -> Self {
        Self { retryable: true, ..self }
    }

    #[track_caller]
    fn is(self, answer: &Answer) {
        assert_eq!(answer.status.as_u16(), self.status, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some(&b"application/problem+json"[..]));
        assert_eq!(answer.header("cache-control"), Some(&b"no-store"[..]));
        let retry_after = answer.retry_after();
        assert_eq!(retry_after.is_some(), self.retryable, "{answer:?}");
        assert!(retry_after.is_none_or(|seconds| (1..=5).contains(&seconds)), "{answer:?}");
        for name in ["idempotent-replayed", "idempotency-key-expires"] {
            assert_eq!(answer.header(name), None, "{name}");
        }
        let mut problem = answer.json();
        let members = problem.as_object_mut().unwrap();
        let detail = members.remove("detail").unwrap();
        assert!(detail.as_str().unwrap().contains(self.detail), "{detail}");
        members.remove("changed");
        let wanted = serde_json::json!({
            "type": format!("urn:idem:problem:{}", self.code.to_lowercase().replace('_', "-")),
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "retryable": self.retryable,
        });
        assert_eq!(problem, wanted);
    }
}

fn order_of(json: &str) -> Call {
    post("/orders", "k", json)
}

async fn a_refused_key_or_request_is_a_problem_that_says_what_to_send<F: Fixture>() {
    let site = site::<F>().await;
    let bad = |code, detail| Expected::new(400, "Bad Request", code, detail);
    let mut call = order_of(BOOK);
    call.headers_mut().remove("idempotency-key");
    bad("IDEMPOTENCY_KEY_REQUIRED", "needs an Idempotency-Key header").is(&site.send(call).await);
    let call = with(order_of(BOOK), "idempotency-key", "k");
    bad("IDEMPOTENCY_KEY_INVALID", "more than once").is(&site.send(call).await);
    let call = order_of(r#"{"name":"book","secret":"s3","secret":"s3"}"#);
    let refused = site.send(call).await;
    bad("IDEMPOTENCY_REQUEST_INVALID", "second member of the same name").is(&refused);
    assert!(!String::from_utf8_lossy(&refused.body).contains("s3"), "no content in a problem");
    assert_eq!(site.count("idempotency_records").await, 0);
}

async fn a_conflict_is_a_problem_that_names_what_differs_and_says_nothing_of_the_first<F: Fixture>() {
    let site = site::<F>().await;
    site.send(order_of(r#"{"name":"first-secret","a":1,"b":{"c":2}}"#)).await;
    let refused = site.send(order_of(r#"{"name":"second-secret","b":{"c":3},"a":1,"d":4}"#)).await;
    Expected::new(422, "Unprocessable Entity", "IDEMPOTENCY_KEY_CONFLICT", "use a new key").is(&refused);
    let mut changed: Vec<_> = refused.json()["changed"].as_array().unwrap().clone();
    changed.sort_by_key(Value::to_string);
    assert_eq!(changed, ["b", "d", "name"]);
    assert!(!String::from_utf8_lossy(&refused.body).contains("secret"));
}

async fn a_twin_at_work_is_a_problem_that_says_when_to_come_again_and_a_conflict_is_one_at_once<
    F: Fixture,
>() {
    let site = site::<F>().await;
    let first = site.sending(with(order_of(BOOK), "x-stop", "body"));
    soon("the twin", site.stage.reached(Place::Body, 1)).await;
    let twin = site.send(order_of(BOOK)).await;
    Expected::new(409, "Conflict", "IDEMPOTENCY_IN_PROGRESS", "in progress").retryable().is(&twin);
    let conflict = site.send(order_of(r#"{"name":"pen"}"#)).await;
    Expected::new(422, "Unprocessable Entity", "IDEMPOTENCY_KEY_CONFLICT", "use a new key").is(&conflict);
    site.stage.open();
    let first = first.await.unwrap().unwrap();
    site.send(order_of(BOOK)).await.replays(&first);
}

async fn a_failure_without_an_answer_is_a_problem_that_a_retry_does_not_help<F: Fixture>() {
    let site = site::<F>().await;
    let panicking = || order_of(r#"{"name":"panic"}"#);
    let panicked = site.send(panicking()).await;
    Expected::new(500, "Internal Server Error", "IDEMPOTENCY_HANDLER_FAILED", "the request failed")
        .is(&panicked);
    let failed = || Expected::new(409, "Conflict", "IDEMPOTENCY_FAILED", "failed before");
    failed().is(&site.send(panicking()).await);
    failed().is(&site.send(panicking()).await);
    assert_eq!(site.effects("panic").await, 0);

    let stream = || keyed(Method::POST, "/streams", "k").body(body("")).unwrap();
    let misuse = site.send(stream()).await;
    Expected::new(500, "Internal Server Error", "IDEMPOTENCY_MISUSE", "cannot be recorded").is(&misuse);
    let unknown = site.send(stream()).await;
    Expected::new(409, "Conflict", "IDEMPOTENCY_OUTCOME_UNKNOWN", "operator").is(&unknown);
}

async fn a_store_that_is_away_is_a_problem_and_nothing_runs_unprotected<F: Fixture>() {
    let site = site::<F>().await;
    site.guard.pool().close().await;
    let refused = site.send(order_of(BOOK)).await;
    Expected::new(503, "Service Unavailable", "IDEMPOTENCY_STORE_UNAVAILABLE", "not available")
        .retryable()
        .is(&refused);
    let mut keyless = order_of(BOOK);
    keyless.headers_mut().remove("idempotency-key");
    assert_eq!(site.send(keyless).await.code(), "IDEMPOTENCY_KEY_REQUIRED", "that needs no store");
    assert_eq!(site.stage.count(Place::Body), 0);
}

on_every_database! {
    a_refused_key_or_request_is_a_problem_that_says_what_to_send,
    a_conflict_is_a_problem_that_names_what_differs_and_says_nothing_of_the_first,
    a_twin_at_work_is_a_problem_that_says_when_to_come_again_and_a_conflict_is_one_at_once,
    a_failure_without_an_answer_is_a_problem_that_a_retry_does_not_help,
    a_store_that_is_away_is_a_problem_and_nothing_runs_unprotected,
}
