//! Refusals of the guard as RFC 9457 problems.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::error::Error;

impl IntoResponse for Error {
    /// A problem that no cache keeps, with the `code` to branch on and whether a plain retry can help.
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut problem = serde_json::json!({
            "type": format!("urn:idem:problem:{}", self.code().to_ascii_lowercase().replace('_', "-")),
            "title": status.canonical_reason().unwrap_or_default(),
            "status": status.as_u16(),
            "code": self.code(),
            "detail": self.to_string(),
            "retryable": self.is_retryable(),
        });
        if let Self::Conflict { changed } = &self
            && !changed.is_empty()
        {
            problem["changed"] = changed.iter().map(String::as_str).collect();
        }
        let mut response = Response::new(Body::from(problem.to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(after) = self.retry_after() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs().max(1)));
        }
        response
    }
}
