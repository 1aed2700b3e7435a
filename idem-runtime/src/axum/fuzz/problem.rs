//! Problems: whatever an error carries, one JSON object with safe headers comes out of it.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use http_body_util::BodyExt;

use crate::error::Error;
use crate::fingerprint::{Fingerprint, FingerprintError, HttpRequest};
use crate::key::{IdempotencyKey, Scope};

/// The first byte chooses the error, the rest is the text in it.
///
/// # Panics
///
/// When the problem is not one JSON object that says what the error says.
pub fn problem(input: &[u8]) {
    let Some((kind, text)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(text).into_owned();
    let Some(error) = error(*kind, &text) else { return };
    let secret = matches!(error, Error::StoreUnavailable(Some(_)));
    let expected = (error.code(), error.status(), error.is_retryable(), error.to_string());
    let response = error.into_response();
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    assert_eq!(response.headers().contains_key(header::RETRY_AFTER), expected.2);
    assert!(response.headers().values().all(|value| value.to_str().is_ok()), "headers in ASCII");
    let status = response.status();
    let body = at_once(response.into_body());
    // Strictly: our own reader also refuses members that are there twice.
    assert!(Fingerprint::json(&body).is_ok());
    assert!(body.iter().all(|byte| *byte >= b' '), "JSON has no control character in its strings");
    let document: serde_json::Value = serde_json::from_slice(&body).expect("it is JSON");
    let (code, number, retryable, detail) = expected;
    assert_eq!((document["code"].as_str(), document["status"].as_u64()), (Some(code), Some(number.into())));
    assert_eq!(
        (status, document["retryable"].as_bool()),
        (StatusCode::from_u16(number).expect("it is one"), Some(retryable))
    );
    assert_eq!(document["detail"].as_str(), Some(detail.as_str()));
    assert!(code.starts_with("IDEMPOTENCY_"));
    if secret && text.len() > 40 {
        assert!(!String::from_utf8_lossy(&body).contains(&text), "what a database said stays inside");
    }
    if let Some(changed) = document["changed"].as_array() {
        assert!(changed.iter().map(|name| name.as_str().expect("a name")).eq(text.split('\n')));
    }
}

fn error(kind: u8, text: &str) -> Option<Error> {
    let reason = text.to_owned();
    Some(match kind % 8 {
        0 => Error::Conflict { changed: text.split('\n').map(str::to_owned).collect() },
        1 => Error::AnswerNotRecordable { reason },
        2 => Error::ReplayUnreadable { reason },
        3 => Error::Scope(Scope::new(text, "user").err()?),
        4 => Error::Key(IdempotencyKey::new(text).err()?),
        5 => Error::Fingerprint(Fingerprint::json(text.as_bytes()).err()?),
        6 => {
            let pointers = [text];
            let request = HttpRequest::new("POST", "/").content_type(Some("application/json"));
            let error: FingerprintError = request.body(b"{}").ignore(&pointers).fingerprint().err()?;
            Error::Fingerprint(error)
        }
        _ => Error::StoreUnavailable(Some(reason.into())),
    })
}

/// The bytes of a body that is there already.
pub(super) fn at_once(body: Body) -> Vec<u8> {
    use futures_util::FutureExt;
    let collected = body.collect().now_or_never().expect("the body is there");
    collected.expect("it cannot fail").to_bytes().to_vec()
}
