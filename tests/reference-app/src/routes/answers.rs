//! Answers of every status, with headers that are hard to keep and some that must not be kept.

use axum::Json;
use axum::body::Body;
use axum::extract::Query;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use idem_runtime::store::ConnectionOf;
use idem_runtime::{Idempotency, Mutation, idempotent};
use serde::Deserialize;
use serde_json::json;

use crate::business::Business;
use crate::error::AppError;
use crate::visit::Visit;

#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    status: u16,
}

/// An answer of the wanted status, after a row was written.
async fn answer<D: Business>(
    visit: &Visit<D>,
    connection: &mut ConnectionOf<D>,
    attempt: i64,
    status: u16,
) -> Result<Response, AppError> {
    visit.enter().await?;
    D::write_row(connection, visit.row("", "")).await?;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let headers = [
        (header::LOCATION, "/elsewhere?a=1&b=%20"),
        (header::RETRY_AFTER, "7"),
        (header::WWW_AUTHENTICATE, "Bearer realm=\"a, b\""),
    ];
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED) {
        return Ok((status, headers).into_response());
    }
    Ok((status, headers, Json(json!({ "status": status.as_u16(), "attempt": attempt }))).into_response())
}

#[idempotent(route = "answers.any")]
pub(crate) async fn any<D: Business>(
    idem: Idempotency<D>,
    Query(wanted): Query<Wanted>,
    mutation: &mut Mutation<D>,
    visit: Visit<D>,
) -> Result<Response, AppError> {
    let attempt = mutation.attempt();
    answer(&visit, mutation, attempt, wanted.status).await
}

#[idempotent(route = "answers.again", retry_failed = true)]
pub(crate) async fn any_again<D: Business>(
    idem: Idempotency<D>,
    Query(wanted): Query<Wanted>,
    mutation: &mut Mutation<D>,
    visit: Visit<D>,
) -> Result<Response, AppError> {
    let attempt = mutation.attempt();
    answer(&visit, mutation, attempt, wanted.status).await
}

/// Several lines, commas, quotes, a byte beyond ASCII, an empty value, and a mark that only a replay has.
#[idempotent(route = "answers.headers", headers("x-note", "x-empty", "vary"))]
pub(crate) async fn headers<D: Business>(
    idem: Idempotency<D>,
    mutation: &mut Mutation<D>,
    visit: Visit<D>,
) -> Result<(StatusCode, HeaderMap, &'static str), AppError> {
    visit.enter().await?;
    D::write_row(mutation, visit.row("", "")).await?;
    let lines: [(HeaderName, &[u8]); 13] = [
        (HeaderName::from_static("x-note"), b"a, \"b\"; c"),
        (HeaderName::from_static("x-note"), b"caf\xe9"),
        (HeaderName::from_static("x-note"), b"a, \"b\"; c"),
        (HeaderName::from_static("x-empty"), b""),
        (header::VARY, b"accept"),
        (header::CACHE_CONTROL, b"private, max-age=5"),
        (header::CONTENT_LANGUAGE, b"de, en"),
        (header::CONTENT_DISPOSITION, b"attachment; filename=\"a,b.txt\""),
        (header::LAST_MODIFIED, b"Wed, 21 Oct 2015 07:28:00 GMT"),
        (HeaderName::from_static("x-other"), b"not kept"),
        (header::SERVER, b"not kept"),
        (HeaderName::from_static("idempotent-replayed"), b"true"),
        (header::CONTENT_TYPE, b"text/plain; name=\"\xfc\""),
    ];
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(name, value);
        }
    }
    Ok((StatusCode::ACCEPTED, headers, "kept"))
}

/// Bytes that a client decodes, and that nobody on the way may.
#[idempotent(route = "answers.compressed")]
pub(crate) async fn compressed<D: Business>(
    idem: Idempotency<D>,
    mutation: &mut Mutation<D>,
    visit: Visit<D>,
) -> Result<Response, AppError> {
    visit.enter().await?;
    D::write_row(mutation, visit.row("", "")).await?;
    // `gzip` of the letter `x`.
    let bytes: &[u8] = &[31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 171, 0, 0, 131, 22, 220, 140, 1, 0, 0, 0];
    let headers = [(header::CONTENT_ENCODING, "gzip"), (header::CONTENT_TYPE, "text/plain")];
    Ok((headers, bytes).into_response())
}

/// A stream whose length nobody knows: it cannot be kept, so it must not have an effect.
#[idempotent(route = "answers.streamed")]
pub(crate) async fn streamed<D: Business>(
    idem: Idempotency<D>,
    mutation: &mut Mutation<D>,
    visit: Visit<D>,
) -> Result<Response, AppError> {
    visit.enter().await?;
    D::write_row(mutation, visit.row("", "")).await?;
    let pieces = futures_util::stream::iter([Ok::<_, std::io::Error>("a"), Ok("b")]);
    Ok(Body::from_stream(pieces).into_response())
}
