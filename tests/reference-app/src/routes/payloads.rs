//! Answers and requests of unusual shape: empty, large, and any bytes at all.

use axum::body::Bytes;
use axum::extract::Query;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use idem_runtime::{Idempotency, Mutation, idempotent};
use serde::Deserialize;

use crate::business::Business;
use crate::error::AppError;
use crate::visit::Visit;

#[idempotent(route = "payloads.none")]
pub(crate) async fn no_content<D: Business>(
    idem: Idempotency<D>,
    mutation: &mut Mutation<D>,
    visit: Visit<D>,
) -> Result<StatusCode, AppError> {
    visit.enter().await?;
    D::write_row(mutation, visit.row("", "")).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
pub(crate) struct Size {
    bytes: usize,
}

#[idempotent(route = "payloads.large")]
pub(crate) async fn large<D: Business>(
    idem: Idempotency<D>,
    Query(size): Query<Size>,
    mutation: &mut Mutation<D>,
    visit: Visit<D>,
) -> Result<(StatusCode, String), AppError> {
    visit.enter().await?;
    D::write_row(mutation, visit.row("", "")).await?;
    Ok((StatusCode::CREATED, "x".repeat(size.bytes)))
}

/// `Bytes` last, so that the request is compared by its bytes and its type.
#[idempotent(route = "payloads.echo")]
pub(crate) async fn echo<D: Business>(
    idem: Idempotency<D>,
    headers: HeaderMap,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    body: Bytes,
) -> Result<Response, AppError> {
    visit.enter().await?;
    D::write_row(mutation, visit.row("", "")).await?;
    let unnamed = HeaderValue::from_static("application/octet-stream");
    let content_type = headers.get(header::CONTENT_TYPE).cloned().unwrap_or(unnamed);
    Ok(([(header::CONTENT_TYPE, content_type)], body).into_response())
}
