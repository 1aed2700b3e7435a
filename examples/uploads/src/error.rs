//! What can go wrong in the service, and what the client is told.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// An error of the service.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error("there is no such upload")]
    NoUpload,
    #[error("part {0} is missing")]
    PartMissing(u32),
    #[error("the parts are another file than this one")]
    OtherContent,
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the disk failed")]
    Disk(#[from] std::io::Error),
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::NoUpload => StatusCode::NOT_FOUND,
            Self::PartMissing(_) | Self::OtherContent => StatusCode::CONFLICT,
            Self::Database(_) | Self::Disk(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, Json(serde_json::json!({ "error": self.to_string() }))).into_response()
    }
}
