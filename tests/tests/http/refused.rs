//! What is refused before the body leaves no record, so that the same key works once the request is right.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path};
use axum::http::Method;
use idem_runtime::axum::{Router, post as post_to, put};
use idem_runtime::{Idempotency, Mutation, Status, idempotent};
use idem_tests::shop::NewOrder;
use idem_tests::{Fixture, on_every_database};
use serde::Deserialize;

use crate::client::{Answer, Call, body, keyed, post, with};
use crate::site::Site;
use crate::{BOOK, USER};

#[idempotent(route = "refused.order")]
async fn order<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> String {
    F::effect(mutation, &order.name).await.unwrap();
    order.name
}

#[derive(Debug, Deserialize)]
struct Numbered {
    number: u8,
}

#[idempotent(route = "refused.item")]
async fn item<F: Fixture>(
    idem: Idempotency<F::S>,
    Path(Numbered { number }): Path<Numbered>,
    mutation: &mut Mutation<F::S>,
    content: Bytes,
) -> String {
    F::effect(mutation, "item").await.unwrap();
    format!("{number}: {} bytes", content.len())
}

/// A shop that takes at most 200 bytes.
async fn site<F: Fixture>() -> Site<F> {
    let routes = Router::new()
        .route("/orders", post_to(order::<F>))
        .route("/items/{number}", put(item::<F>))
        .layer(DefaultBodyLimit::max(200));
    Site::of(routes).await
}

fn without(mut call: Call, name: &str) -> Call {
    call.headers_mut().remove(name);
    call
}

fn order_of(json: &str) -> Call {
    post("/orders", "k", json)
}

/// Each refusal by its name, its status and its code; the code is empty where the refusal is not ours.
fn refusals() -> Vec<(&'static str, Call, u16, &'static str)> {
    let form = keyed(Method::POST, "/orders", "k").header("content-type", "text/plain");
    let malformed = |key| with(without(order_of(BOOK), "idempotency-key"), "idempotency-key", key);
    let long = "x".repeat(300);
    vec![
        ("nobody", without(order_of(BOOK), "x-user"), 401, ""),
        ("nobody, with a bad key", without(malformed("a b"), "x-user"), 401, ""),
        ("no key", without(order_of(BOOK), "idempotency-key"), 400, "IDEMPOTENCY_KEY_REQUIRED"),
        ("a blank", malformed("a b"), 400, "IDEMPOTENCY_KEY_INVALID"),
        ("an empty key", malformed(""), 400, "IDEMPOTENCY_KEY_INVALID"),
        ("half a string", malformed("\"k"), 400, "IDEMPOTENCY_KEY_INVALID"),
        ("joined keys", malformed("k,k"), 400, "IDEMPOTENCY_KEY_INVALID"),
        ("a long key", malformed(&long), 400, "IDEMPOTENCY_KEY_INVALID"),
        ("two keys", with(order_of(BOOK), "idempotency-key", "k"), 400, "IDEMPOTENCY_KEY_INVALID"),
        ("an empty user", with(without(order_of(BOOK), "x-user"), "x-user", ""), 500, "IDEMPOTENCY_MISUSE"),
        ("too large", order_of(&format!(r#"{{"name":"{long}"}}"#)), 413, ""),
        ("another type", form.body(body(BOOK)).unwrap(), 415, ""),
        ("no type", without(order_of(BOOK), "content-type"), 415, ""),
        ("a missing member", order_of("{}"), 422, ""),
        ("a member of another type", order_of(r#"{"name":7}"#), 422, ""),
        ("half a document", order_of(r#"{"name":"book""#), 400, ""),
        ("nothing", order_of(""), 400, ""),
        (
            "the same member twice",
            order_of(r#"{"name":"book","note":1,"note":2}"#),
            400,
            "IDEMPOTENCY_REQUEST_INVALID",
        ),
        (
            "a lone surrogate",
            order_of(r#"{"name":"book","note":"\ud800"}"#),
            400,
            "IDEMPOTENCY_REQUEST_INVALID",
        ),
        ("a path that is no number", keyed(Method::PUT, "/items/x", "k").body(body("")).unwrap(), 400, ""),
        ("no route", keyed(Method::POST, "/nowhere", "k").body(body("")).unwrap(), 404, ""),
        ("no such method", keyed(Method::PATCH, "/orders", "k").body(body("")).unwrap(), 405, ""),
    ]
}

async fn what_is_refused_before_the_body_leaves_no_record_and_does_not_use_up_the_key<F: Fixture>() {
    let site = site::<F>().await;
    for (name, call, status, code) in refusals() {
        let refused: Answer = site.send(call).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (status, code), "{name}: {refused:?}");
        assert_eq!(refused.header("idempotency-key-expires"), None, "{name}");
        assert_eq!(site.count("idempotency_records").await, 0, "{name}");
    }
    let first = site.send(order_of(BOOK)).await;
    assert_eq!((first.status.as_u16(), &first.body[..]), (200, &b"book"[..]));
    let put = keyed(Method::PUT, "/items/7", "k").body(body("xyz")).unwrap();
    assert_eq!(&site.send(put).await.body[..], b"7: 3 bytes");
    assert_eq!(site.count("effects").await, 2);
}

async fn what_is_refused_later_changes_nothing_of_an_answer_that_is_there<F: Fixture>() {
    let site = site::<F>().await;
    let first = site.send(order_of(BOOK)).await;
    let record = site.record("refused.order", "k").await;
    assert_eq!(record.as_ref().unwrap().status, Status::Succeeded);
    for (name, call, status, _) in refusals() {
        assert_eq!(site.send(call).await.status.as_u16(), status, "{name}");
    }
    let conflict = site.send(order_of(r#"{"name":"pen"}"#)).await;
    assert_eq!((conflict.status.as_u16(), conflict.code().as_str()), (422, "IDEMPOTENCY_KEY_CONFLICT"));
    assert_eq!(site.record("refused.order", "k").await, record);
    site.send(order_of(BOOK)).await.replays(&first);
    assert_eq!(site.count("effects").await, 1);
}

async fn a_replay_is_given_to_nobody_but_its_user<F: Fixture>() {
    let site = site::<F>().await;
    let first = site.send(order_of(BOOK)).await;
    let anonymous = site.send(without(order_of(BOOK), "x-user")).await;
    assert_eq!((anonymous.status.as_u16(), &anonymous.body[..]), (401, &b""[..]));
    let mut other = order_of(BOOK);
    other.headers_mut().insert("x-user", format!("{USER}0").parse().unwrap());
    assert!(!site.send(other).await.is_replay());
    site.send(order_of(BOOK)).await.replays(&first);
}

on_every_database! {
    what_is_refused_before_the_body_leaves_no_record_and_does_not_use_up_the_key,
    what_is_refused_later_changes_nothing_of_an_answer_that_is_there,
    a_replay_is_given_to_nobody_but_its_user,
}
