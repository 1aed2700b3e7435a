//! A route that names another identity than the application's own: a webhook has no logged-in user.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use idem_runtime::axum::{Delegated, RouteIdentity, Router, post as post_to};
use idem_runtime::{Idempotency, KeyError, Mutation, Own, Scope, idempotent};
use idem_tests::shop::{NewOrder, Shop, ShopError};
use idem_tests::{Fixture, on_every_database};
use serde::Deserialize;

use crate::BOOK;
use crate::client::{Call, body, keyed, post, with};
use crate::site::Site;

/// Known by a header of its own; `x-user` says nothing about it.
struct Sender(String);

impl<S: Sync> FromRequestParts<S> for Sender {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let name = parts.headers.get("x-sender").and_then(|value| value.to_str().ok());
        name.map(|name| Self(name.to_owned())).ok_or((StatusCode::UNAUTHORIZED, "who sends this?"))
    }
}

impl RouteIdentity for Sender {
    fn scope(&self) -> Result<Scope, KeyError> {
        Scope::new("webhooks", &self.0)
    }
}

#[derive(Deserialize)]
struct Event {
    id: String,
}

#[idempotent(route = "identities.event", preset = webhook, key = &event.id)]
async fn event<F: Fixture>(
    idem: Idempotency<F::S, Sender>,
    mutation: &mut Mutation<F::S>,
    Json(event): Json<Event>,
) -> String {
    F::effect(mutation, "event").await.unwrap();
    format!("{} for {}", event.id, idem.scope().user())
}

#[idempotent(route = "identities.external")]
async fn external<F: Fixture>(idem: Idempotency<F::S, Sender>) -> String {
    format!("{} {}", idem.scope().tenant(), idem.key())
}

#[idempotent(route = "identities.place")]
async fn place<F: Fixture>(
    idem: &Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    name: &str,
) -> Result<String, ShopError> {
    F::effect(mutation, name).await?;
    Ok(format!("{name} of {}", idem.scope().user()))
}

async fn by_users<F: Fixture>(idem: Delegated<F::S>, order: Json<NewOrder>) -> Result<String, ShopError> {
    place::<F>(&idem, &order.name).await
}

async fn by_senders<F: Fixture>(
    idem: Delegated<F::S, Sender>,
    order: Json<NewOrder>,
) -> Result<String, ShopError> {
    place::<F>(&idem, &order.name).await
}

async fn by_the_own_one<F: Fixture>(
    idem: Delegated<F::S, Own>,
    order: Json<NewOrder>,
) -> Result<String, ShopError> {
    place::<F>(&idem, &order.name).await
}

async fn site<F: Fixture>() -> Site<F> {
    let routes = Router::<Shop<F>>::new()
        .route("/events", post_to(event::<F>))
        .route("/external", post_to(external::<F>))
        .route("/users", post_to(by_users::<F>))
        .route("/senders", post_to(by_senders::<F>))
        .route("/own", post_to(by_the_own_one::<F>));
    Site::of(routes).await
}

/// A delivery without a user and without a key in its head.
fn delivered(sender: &str, json: &str) -> Call {
    let head = axum::http::Request::builder().method(Method::POST).uri("/events");
    let head = head.header("x-sender", sender).header("content-type", "application/json");
    head.body(body(json.to_owned())).unwrap()
}

async fn without_the_identity_of_the_route_nothing_is_claimed_and_no_other_one_stands_in<F: Fixture>() {
    let site = site::<F>().await;
    // Each of these comes with the application's own identity, and a key.
    for path in ["/events", "/external", "/senders"] {
        let refused = site.send(post(path, "k", r#"{"id":"e1","name":"book"}"#)).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(&refused.body[..], b"who sends this?", "{path}");
    }
    let mut keyless = with(post("/external", "k", BOOK), "x-sender", "bank");
    keyless.headers_mut().remove("x-sender");
    keyless.headers_mut().remove("idempotency-key");
    assert_eq!(
        site.send(keyless).await.status,
        StatusCode::UNAUTHORIZED,
        "the identity comes before the key"
    );
    let mut foreign = with(post("/users", "k", BOOK), "x-sender", "bank");
    foreign.headers_mut().remove("x-user");
    assert_eq!(site.send(foreign).await.status, StatusCode::UNAUTHORIZED, "nor the other way round");
    assert_eq!((site.count("idempotency_records").await, site.count("effects").await), (0, 0));
}

async fn an_event_is_known_by_its_id_and_its_sender<F: Fixture>() {
    let site = site::<F>().await;
    let first = site.send(delivered("bank", r#"{"id":"e1"}"#)).await;
    assert_eq!((first.status, &first.body[..]), (StatusCode::OK, &b"e1 for bank"[..]));
    site.send(delivered("bank", r#"{"id":"e1"}"#)).await.replays(&first);
    let other = site.send(delivered("mail", r#"{"id":"e1"}"#)).await;
    assert_eq!((&other.body[..], other.is_replay()), (&b"e1 for mail"[..], false));
    assert_eq!(site.effects("event").await, 2);
}

async fn two_identities_never_see_each_others_answers<F: Fixture>() {
    let site = site::<F>().await;
    // The same name, the same key and the same request, at routes that call one guarded function.
    let call = |path| with(with(post(path, "k", BOOK), "x-sender", "user-7"), "x-tenant", "acme");
    let user = site.send(call("/users")).await;
    let sender = site.send(call("/senders")).await;
    assert_eq!((user.is_replay(), sender.is_replay()), (false, false));
    site.send(call("/users")).await.replays(&user);
    site.send(call("/senders")).await.replays(&sender);
    assert_eq!(site.effects("book").await, 2);
    // The application's own identity by name is the same as without one.
    site.send(call("/own")).await.replays(&user);
}

async fn a_body_without_a_transaction_sees_the_scope_of_the_named_identity<F: Fixture>() {
    let site = site::<F>().await;
    let call = || with(keyed(Method::POST, "/external", "k").body(body("")).unwrap(), "x-sender", "bank");
    let first = site.send(call()).await;
    assert_eq!(&first.body[..], b"webhooks k");
    site.send(call()).await.replays(&first);
}

async fn a_scope_that_cannot_be_used_is_a_fault_of_the_service_and_not_of_the_key<F: Fixture>() {
    let site = site::<F>().await;
    let long = "x".repeat(256);
    let mut own = post("/users", "k", BOOK);
    own.headers_mut().insert("x-user", long.parse().unwrap());
    for call in [own, delivered(&long, r#"{"id":"e1"}"#)] {
        let refused = site.send(call).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (500, "IDEMPOTENCY_MISUSE"));
        assert!(refused.json()["detail"].as_str().unwrap().contains("scope"), "{refused:?}");
        assert_eq!((refused.retry_after(), refused.json()["retryable"].as_bool()), (None, Some(false)));
    }
    assert_eq!(site.count("idempotency_records").await, 0);
}

on_every_database! {
    without_the_identity_of_the_route_nothing_is_claimed_and_no_other_one_stands_in,
    an_event_is_known_by_its_id_and_its_sender,
    two_identities_never_see_each_others_answers,
    a_body_without_a_transaction_sees_the_scope_of_the_named_identity,
    a_scope_that_cannot_be_used_is_a_fault_of_the_service_and_not_of_the_key,
}
