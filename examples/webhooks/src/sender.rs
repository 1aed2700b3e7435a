//! Who delivers: an identity that only a valid signature gives, before any claim.

use std::time::SystemTime;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use idem_runtime::axum::RouteIdentity;
use idem_runtime::{KeyError, Scope};

use crate::signature::Secret;

/// The header with the signature.
pub(crate) const SIGNATURE: &str = "x-webhook-signature";
/// No event is longer.
const MAX_BODY: usize = 64 * 1024;

/// The payment provider. [`verify`] alone makes one, so a route that asks for it and has no such layer answers 401.
#[derive(Debug, Clone)]
pub(crate) struct WebhookSender(());

impl RouteIdentity for WebhookSender {
    fn scope(&self) -> Result<Scope, KeyError> {
        // Keys are kept per route, and a route has one identity: no user of ours can meet these.
        Scope::new("our payment provider", "webhooks")
    }
}

impl<S: Sync> FromRequestParts<S> for WebhookSender {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        parts.extensions.get::<Self>().cloned().ok_or(StatusCode::UNAUTHORIZED)
    }
}

/// A layer that reads the raw body and lets pass what the provider has signed.
///
/// An extractor for the identity sees the head alone, and the signature covers the body: so it is a layer.
pub(crate) async fn verify(
    State(secret): State<Secret>,
    request: Request,
    next: Next,
) -> Result<Response, StatusCode> {
    let (mut parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY).await.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
    let header = parts.headers.get(SIGNATURE).and_then(|header| header.to_str().ok());
    if !header.is_some_and(|header| secret.accepts(header, &body, SystemTime::now())) {
        return Err(StatusCode::UNAUTHORIZED);
    }
    parts.extensions.insert(WebhookSender(()));
    Ok(next.run(Request::from_parts(parts, Body::from(body))).await)
}
