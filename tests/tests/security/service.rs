//! A small service whose answers hold a secret, called without a network.

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use idem_runtime::axum::{Router, post};
use idem_runtime::{Error, Idempotency, Mutation, idempotent};
use idem_tests::Fixture;
use idem_tests::shop::Shop;
use serde::Deserialize;
use tower_service::Service;

use crate::{CANARY, Guard};

#[derive(Deserialize)]
struct Asked {
    secret: String,
}

#[idempotent(route = "tokens.issue")]
async fn issue<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(asked): Json<Asked>,
) -> (StatusCode, [(&'static str, String); 4], String) {
    F::effect(mutation, "issued").await.unwrap();
    let headers = [
        ("link", format!("</{CANARY}>")),
        ("set-cookie", format!("session={CANARY}")),
        ("authorization", format!("Bearer {CANARY}")),
        ("x-token", CANARY.to_owned()),
    ];
    (StatusCode::CREATED, headers, format!("your token is {}", asked.secret))
}

#[idempotent(route = "tokens.refuse")]
async fn refuse<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    Json(asked): Json<Asked>,
) -> Result<(), (StatusCode, String)> {
    let _ = mutation;
    Err((StatusCode::PAYMENT_REQUIRED, format!("the card {} was declined", asked.secret)))
}

#[idempotent(route = "tokens.step", retry_failed = true)]
async fn step<F: Fixture>(idem: Idempotency<F::S>, Json(asked): Json<Asked>) -> Result<String, Error> {
    let _: String = idem.step("ask", async |_| Ok::<_, Error>(asked.secret.clone())).await?;
    if idem.attempt() == 1 {
        return Err(Error::Failed);
    }
    let kept: String = idem.step("ask", async |_| Ok::<_, Error>("taken twice".to_owned())).await?;
    Ok(kept)
}

/// What a client gets.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn is_replay(&self) -> bool {
        self.headers.contains_key("idempotent-replayed")
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn code(&self) -> String {
        let problem: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        problem["code"].as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) fn app<F: Fixture>(guard: Guard<F>) -> axum::Router {
    let routes = Router::new()
        .route("/issue", post(issue::<F>))
        .route("/refuse", post(refuse::<F>))
        .route("/step", post(step::<F>));
    Shop::<F>::new(guard).serves(routes)
}

/// Sends JSON with a secret in it; without a `user` there is no login.
pub(crate) async fn send(app: &axum::Router, path: &str, key: &str, user: Option<(&str, &str)>) -> Answer {
    send_body(app, path, key, user, format!(r#"{{"secret":"{CANARY}"}}"#)).await
}

pub(crate) async fn send_body(
    app: &axum::Router,
    path: &str,
    key: &str,
    user: Option<(&str, &str)>,
    body: impl Into<Body>,
) -> Answer {
    let mut request = Request::post(path).header("content-type", "application/json");
    request = request.header("idempotency-key", key);
    if let Some((tenant, user)) = user {
        request = request.header("x-tenant", tenant).header("x-user", user);
    }
    let response = app.clone().call(request.body(body.into()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}
