//! What a guarded handler takes from the request: who asks, under which key, and the very bytes sent.

use std::fmt;
use std::marker::PhantomData;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, OriginalUri, Request};
use axum::http::request::Parts;
use axum::http::{Method, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::axum::identity::Asks;
use crate::axum::key;
use crate::axum::state::IdempotencyState;
use crate::error::Error;
use crate::fingerprint::{Fingerprint, FingerprintError, HttpRequest};
use crate::guard::{Idempotency, IdempotencyMutationGuard, Own};
use crate::key::{IdempotencyKey, Scope};
use crate::store::Store;

/// Identity first, then the key: a 401 comes before any word on idempotency.
async fn identify<A, I>(
    parts: &mut Parts,
    state: &A,
) -> Result<(IdempotencyMutationGuard<A::Store>, Scope, Option<IdempotencyKey>), Response>
where
    A: IdempotencyState + Sync,
    I: Asks<A>,
{
    let scope = I::scope_of(parts, state).await?.map_err(|error| {
        tracing::error!(%error, "an identity names no usable scope: check what its `scope` gives");
        Error::Scope(error).into_response()
    })?;
    let key = key::from_headers(&parts.headers).map_err(IntoResponse::into_response)?;
    Ok((state.guard().clone(), scope, key))
}

/// For handlers that pass `&idem` on to a guarded service function: tenant, user and a required key.
impl<A, I> FromRequestParts<A> for Idempotency<A::Store, I>
where
    A: IdempotencyState + Send + Sync,
    I: Asks<A>,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &A) -> Result<Self, Response> {
        let (guard, scope, key) = identify::<A, I>(parts, state).await?;
        let key = key.ok_or_else(|| Error::KeyRequired.into_response())?;
        Ok(Self::new(guard, scope, key))
    }
}

/// Whether a request without a key is refused, before its body is read.
pub trait KeyRule: Send + Sync {
    /// Refused, or not.
    const REQUIRED: bool;
}

/// The request must carry a key.
#[derive(Debug)]
pub struct KeyNeeded;

/// The request may come without a key, or its key is taken from somewhere else.
#[derive(Debug)]
pub struct KeyOptional;

impl KeyRule for KeyNeeded {
    const REQUIRED: bool = true;
}

impl KeyRule for KeyOptional {
    const REQUIRED: bool = false;
}

/// What `#[idempotent]` makes of a handler's first parameter; no other code can claim with it.
pub struct Guarded<S: Store, K = KeyNeeded, I = Own> {
    pub(super) guard: IdempotencyMutationGuard<S>,
    pub(super) scope: Scope,
    pub(super) key: Option<IdempotencyKey>,
    method: Method,
    uri: Uri,
    asked: PhantomData<fn() -> (K, I)>,
}

impl<S: Store, K, I> fmt::Debug for Guarded<S, K, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("method", &self.method).finish_non_exhaustive()
    }
}

impl<S: Store, K, I> Guarded<S, K, I> {
    /// The guard that the application's state named.
    pub fn guard(&self) -> &IdempotencyMutationGuard<S> {
        &self.guard
    }

    /// The fingerprint of what was received.
    pub(super) fn fingerprint(
        &self,
        received: &ReceivedBytes,
        ignore: &[&str],
    ) -> Result<Fingerprint, FingerprintError> {
        let request = HttpRequest::new(self.method.as_str(), self.uri.path())
            .query(self.uri.query())
            .content_type(received.content_type.as_deref())
            .body(&received.bytes)
            .ignore(ignore);
        if received.raw { request.raw().fingerprint() } else { request.fingerprint() }
    }
}

impl<A, K, I> FromRequestParts<A> for Guarded<A::Store, K, I>
where
    A: IdempotencyState + Send + Sync,
    K: KeyRule,
    I: Asks<A>,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &A) -> Result<Self, Response> {
        let (guard, scope, key) = identify::<A, I>(parts, state).await?;
        if K::REQUIRED && key.is_none() {
            return Err(Error::KeyRequired.into_response());
        }
        // The path as the client sent it, before any nesting.
        let uri = match parts.extensions.get::<OriginalUri>() {
            Some(OriginalUri(uri)) => uri.clone(),
            None => parts.uri.clone(),
        };
        Ok(Self { guard, scope, key, method: parts.method.clone(), uri, asked: PhantomData })
    }
}

/// The body as it came, kept for the fingerprint.
#[derive(Debug)]
pub struct ReceivedBytes {
    bytes: Bytes,
    content_type: Option<String>,
    raw: bool,
}

/// How an extractor reads a body, and so how two bodies are compared.
///
/// Implement it for an extractor of your own that reads the body; JSON ones compare members, raw ones bytes.
pub trait ReadsBody {
    /// Whether equal JSON documents with different bytes are the same request.
    const COMPARES_JSON: bool;
}

impl<T> ReadsBody for axum::Json<T> {
    const COMPARES_JSON: bool = true;
}

impl<T> ReadsBody for axum::Form<T> {
    const COMPARES_JSON: bool = false;
}

impl ReadsBody for String {
    const COMPARES_JSON: bool = false;
}

impl ReadsBody for Bytes {
    const COMPARES_JSON: bool = false;
}

/// The last argument of a guarded handler, with the bytes that it was read from.
#[derive(Debug)]
pub struct Received<T> {
    /// What the handler takes.
    pub value: T,
    /// The bytes.
    pub bytes: ReceivedBytes,
}

/// The last argument of a guarded handler that takes none of its own.
#[derive(Debug)]
pub struct NoBody;

impl<A: Send + Sync> FromRequestParts<A> for NoBody {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(_: &mut Parts, _: &A) -> Result<Self, Self::Rejection> {
        Ok(Self)
    }
}

/// Tells a wrapped argument that reads the body from one that reads the head.
#[derive(Debug)]
pub struct Via<M>(PhantomData<M>);

async fn receive<A: Send + Sync>(
    request: Request,
    state: &A,
) -> Result<(Parts, Bytes, Option<String>), Response> {
    let (parts, body) = request.into_parts();
    let content_type = parts.headers.get(header::CONTENT_TYPE);
    // Each byte is one character, so that no two types become one.
    let content_type = content_type.map(|value| value.as_bytes().iter().copied().map(char::from).collect());
    // Reads within the application's body limit and refuses with 413 beyond it.
    let rebuilt = Request::from_parts(parts.clone(), body);
    let bytes = Bytes::from_request(rebuilt, state).await.map_err(IntoResponse::into_response)?;
    Ok((parts, bytes, content_type))
}

impl<A, T> FromRequest<A, Via<BodyArgument>> for Received<T>
where
    A: Send + Sync,
    T: FromRequest<A> + ReadsBody,
{
    type Rejection = Response;

    async fn from_request(request: Request, state: &A) -> Result<Self, Response> {
        let (parts, bytes, content_type) = receive(request, state).await?;
        let request = Request::from_parts(parts, Body::from(bytes.clone()));
        let value = T::from_request(request, state).await.map_err(IntoResponse::into_response)?;
        Ok(Self { value, bytes: ReceivedBytes { bytes, content_type, raw: !T::COMPARES_JSON } })
    }
}

impl<A, T> FromRequest<A, Via<HeadArgument>> for Received<T>
where
    A: Send + Sync,
    T: FromRequestParts<A>,
{
    type Rejection = Response;

    async fn from_request(request: Request, state: &A) -> Result<Self, Response> {
        let (mut parts, bytes, content_type) = receive(request, state).await?;
        let value = T::from_request_parts(&mut parts, state).await.map_err(IntoResponse::into_response)?;
        Ok(Self { value, bytes: ReceivedBytes { bytes, content_type, raw: false } })
    }
}

/// Marks an argument that reads the body.
#[derive(Debug)]
pub struct BodyArgument;

/// Marks an argument that reads the head alone.
#[derive(Debug)]
pub struct HeadArgument;
