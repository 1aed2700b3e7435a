//! What can go wrong in the service, and what the client is told.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// An error of the service.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error("there is no such order")]
    NoOrder,
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::NoOrder => StatusCode::NOT_FOUND,
            Self::Database(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, Json(serde_json::json!({ "error": self.to_string() }))).into_response()
    }
}
