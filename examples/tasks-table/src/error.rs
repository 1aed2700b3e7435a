//! What can go wrong in the service, and what the client is told.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// An error of the service; nothing here is the client's fault.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the task cannot be written or read")]
    Task(#[from] serde_json::Error),
    #[error(transparent)]
    Guard(#[from] idem_runtime::Error),
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let body = Json(serde_json::json!({ "error": self.to_string() }));
        (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
    }
}
