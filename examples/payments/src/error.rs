//! What can go wrong in the service, and what the client is told.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::bank::BankError;

/// An error of the service. A guarded handler records it as the answer, with the status that it has here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error(transparent)]
    Bank(#[from] BankError),
    #[error("there is no such account")]
    NoAccount,
    #[error("this account exists already")]
    AccountExists,
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the database failed")]
    Reading(#[from] idem_runtime::ReadPoolError),
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Bank(BankError::Declined) => StatusCode::PAYMENT_REQUIRED,
            Self::NoAccount => StatusCode::NOT_FOUND,
            Self::AccountExists => StatusCode::CONFLICT,
            Self::Bank(BankError::Silent(_)) | Self::Database(_) | Self::Reading(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        (status, Json(serde_json::json!({ "error": self.to_string() }))).into_response()
    }
}
