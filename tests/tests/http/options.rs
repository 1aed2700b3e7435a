//! What a route may declare about keys, fingerprints and failures, as its clients see it.

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::{Form, Json};
use idem_runtime::axum::{Router, exempt, post as post_to, read_only};
use idem_runtime::{Idempotency, Mutation, Status, idempotent};
use idem_tests::shop::{NewOrder, Place, Shop, ShopError, Stop};
use idem_tests::{Fixture, on_every_database};
use serde::Deserialize;

use crate::client::{Call, body, keyed, post, with};
use crate::site::Site;
use crate::{BOOK, USER, soon};

fn keyless(path: &str, content_type: &str, content: &str) -> Call {
    let head = axum::http::Request::builder().method(Method::POST).uri(path);
    let head = head.header("x-user", USER).header("content-type", content_type);
    head.body(body(content.to_owned())).unwrap()
}

#[idempotent(route = "options.optional", key = optional)]
async fn optional<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> String {
    F::effect(mutation, &order.name).await.unwrap();
    order.name
}

async fn without_its_optional_key_each_request_runs_and_a_malformed_one_is_refused<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(optional::<F>))).await;
    for runs in 1..=3 {
        let answer = site.send(keyless("/", "application/json", BOOK)).await;
        assert_eq!((answer.status, answer.is_replay()), (StatusCode::OK, false));
        assert_eq!(site.effects("book").await, runs);
    }
    for key in ["a b", "", "\"k", "k;k"] {
        let refused = site.send(with(keyless("/", "application/json", BOOK), "idempotency-key", key)).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (400, "IDEMPOTENCY_KEY_INVALID"));
    }
    let first = site.send(post("/", "k", BOOK)).await;
    site.send(post("/", "k", BOOK)).await.replays(&first);
    assert_eq!(site.effects("book").await, 4);
}

#[derive(Debug, Deserialize)]
struct Event {
    id: String,
    name: String,
}

#[idempotent(route = "options.webhook", preset = webhook, key = &event.id, fingerprint(ignore("/sent_at", "/tries/0")))]
async fn webhook<F: Fixture>(
    idem: Idempotency<F::S>,
    State(shop): State<Shop<F>>,
    stop: Stop,
    mutation: &mut Mutation<F::S>,
    Json(event): Json<Event>,
) -> Result<String, ShopError> {
    F::effect(mutation, &event.name).await?;
    stop.at(Place::Body, &shop.stage).await;
    match event.name.as_str() {
        "fails" if mutation.attempt() == 1 => Err(ShopError::Refused(StatusCode::BAD_GATEWAY)),
        _ => Ok(format!("attempt {}", mutation.attempt())),
    }
}

fn delivered(json: &str) -> Call {
    keyless("/", "application/json", json)
}

async fn a_webhook_is_known_by_the_id_of_its_event_whatever_its_volatile_members<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(webhook::<F>))).await;
    let first =
        site.send(delivered(r#"{"id":"e1","name":"paid","sent_at":"10:00","tries":[1,{"a":1}]}"#)).await;
    assert_eq!(&first.body[..], b"attempt 1");
    let again = r#"{"tries":[2,{"a":1}],"sent_at":"10:05","name":"paid","id":"e1","gone":null}"#;
    site.send(delivered(again)).await.replays(&first);
    // The key is the event's, whatever the header says.
    site.send(with(delivered(again), "idempotency-key", "another")).await.replays(&first);
    for other in [
        r#"{"id":"e1","name":"lost","sent_at":"10:00","tries":[1,{"a":1}]}"#,
        r#"{"id":"e1","name":"paid","sent_at":"10:00","tries":[1,{"a":2}]}"#,
    ] {
        assert_eq!(site.send(delivered(other)).await.code(), "IDEMPOTENCY_KEY_CONFLICT");
    }
    for id in ["", "a b", "caf\u{e9}"] {
        let refused = site.send(delivered(&format!(r#"{{"id":"{id}","name":"paid"}}"#))).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (400, "IDEMPOTENCY_KEY_INVALID"));
    }
    assert_eq!((site.effects("paid").await, site.count("effects").await), (1, 1));
}

async fn a_webhook_that_failed_runs_again<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(webhook::<F>))).await;
    let event = r#"{"id":"e2","name":"fails"}"#;
    assert_eq!(site.send(delivered(event)).await.status, StatusCode::BAD_GATEWAY);
    let second = site.send(delivered(event)).await;
    assert_eq!((&second.body[..], second.is_replay()), (&b"attempt 2"[..], false));
    site.send(delivered(event)).await.replays(&second);
    assert_eq!(site.effects("fails").await, 1);
}

async fn a_second_delivery_waits_for_the_first_and_gets_its_answer<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(webhook::<F>))).await;
    let event = r#"{"id":"e3","name":"slow"}"#;
    let first = site.sending(with(delivered(event), "x-stop", "body"));
    soon("the first delivery", site.stage.reached(Place::Body, 1)).await;
    let second = site.sending(delivered(event));
    soon("the second delivery", site.stage.reached(Place::Arrived, 2)).await;
    site.stage.open();
    let first = first.await.unwrap().unwrap();
    second.await.unwrap().unwrap().replays(&first);
    assert_eq!(site.effects("slow").await, 1);
}

#[idempotent(route = "options.released", release_on(ShopError::Busy | ShopError::Refused(StatusCode::LOCKED)))]
async fn released<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Result<String, ShopError> {
    F::effect(mutation, &order.name).await?;
    match mutation.attempt() {
        1 => Err(ShopError::Busy),
        2 => Err(ShopError::Refused(StatusCode::LOCKED)),
        _ => Err(ShopError::Refused(StatusCode::FORBIDDEN)),
    }
}

async fn only_the_named_errors_give_the_claim_back<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(released::<F>))).await;
    for (attempt, status) in [(1, 503), (2, 423)] {
        let answer = site.send(post("/", "k", BOOK)).await;
        assert_eq!((answer.status.as_u16(), answer.is_replay()), (status, false));
        assert_eq!(answer.header("idempotency-key-expires"), None, "nothing was kept of it");
        let record = site.record("options.released", "k").await.unwrap();
        assert_eq!((record.status, record.token.attempt), (Status::Failed, attempt));
        assert!(record.released_at.is_some() && record.answer.is_none());
        let conflict = site.send(post("/", "k", r#"{"name":"pen"}"#)).await;
        assert_eq!(conflict.code(), "IDEMPOTENCY_KEY_CONFLICT", "a released key keeps its request");
    }
    let last = site.send(post("/", "k", BOOK)).await;
    assert_eq!(last.status, StatusCode::FORBIDDEN);
    site.send(post("/", "k", BOOK)).await.replays(&last);
    assert_eq!(site.effects("book").await, 0);
}

#[idempotent(route = "options.form")]
async fn form<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Form(order): Form<NewOrder>,
) -> String {
    F::effect(mutation, &order.name).await.unwrap();
    order.name
}

async fn a_form_is_compared_byte_by_byte<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(form::<F>))).await;
    let call = |content: &str| {
        let head = keyed(Method::POST, "/", "k").header("content-type", "application/x-www-form-urlencoded");
        head.body(body(content.to_owned())).unwrap()
    };
    let first = site.send(call("name=book")).await;
    assert_eq!((first.status, &first.body[..]), (StatusCode::OK, &b"book"[..]));
    site.send(call("name=book")).await.replays(&first);
    for other in ["name=book&", "name=%62ook", "name=pen"] {
        assert_eq!(site.send(call(other)).await.code(), "IDEMPOTENCY_KEY_CONFLICT", "{other}");
    }
}

async fn login() -> &'static str {
    "welcome"
}

async fn a_route_that_does_not_honour_a_key_says_so<F: Fixture>() {
    let routes = Router::<Shop<F>>::new().route("/login", post_to(exempt("a login may be repeated", login)));
    let site = Site::<F>::of(routes.route("/search", post_to(read_only(login)))).await;
    for path in ["/login", "/search"] {
        let answer = site.send(post(path, "k", "")).await;
        assert_eq!(answer.header("idempotency-status"), Some(&b"ignored"[..]));
        let answer = site.send(keyless(path, "text/plain", "")).await;
        assert_eq!((answer.status, answer.header("idempotency-status")), (StatusCode::OK, None));
    }
    assert_eq!(site.count("idempotency_records").await, 0);
}

on_every_database! {
    without_its_optional_key_each_request_runs_and_a_malformed_one_is_refused,
    a_webhook_is_known_by_the_id_of_its_event_whatever_its_volatile_members,
    a_webhook_that_failed_runs_again,
    a_second_delivery_waits_for_the_first_and_gets_its_answer,
    only_the_named_errors_give_the_claim_back,
    a_form_is_compared_byte_by_byte,
    a_route_that_does_not_honour_a_key_says_so,
}
