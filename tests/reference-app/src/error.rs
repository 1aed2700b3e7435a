//! What goes wrong: at the start, and in a handler.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use idem_runtime::{BuildError, Error, FingerprintError};

/// Why the app does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The URL names no database that this build knows.
    #[error("`{0}` names no database that this build knows: use sqlite:, postgres: or mysql:")]
    UnknownDatabase(String),
    /// The business tables could not be made.
    #[error("the database cannot be used")]
    Database(#[from] sqlx::Error),
    /// The guard refused the database.
    #[error(transparent)]
    Guard(#[from] BuildError),
    /// A secret cannot be used.
    #[error(transparent)]
    Secret(#[from] FingerprintError),
    /// The address cannot be used.
    #[error("cannot listen")]
    Listen(#[from] std::io::Error),
}

/// Why a handler failed.
#[derive(Debug)]
pub(crate) enum AppError {
    /// An order of nothing.
    QuantityInvalid,
    /// What the payment provider and the other partners answer when a case asks for it.
    PartnerFailed,
    /// Too much to do; the claim is given back, so that the next attempt runs.
    Busy,
    /// A failure after the row was written, as the case asked for.
    AfterInsert,
    /// There is no such profile.
    NoProfile,
    /// The database failed.
    Sql(sqlx::Error),
    /// The guard of a service function refused.
    Refused(Error),
}

impl From<Error> for AppError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let (status, code) = match self {
            Self::QuantityInvalid => (StatusCode::UNPROCESSABLE_ENTITY, "QUANTITY_INVALID"),
            Self::PartnerFailed => (StatusCode::BAD_GATEWAY, "PARTNER_FAILED"),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "BUSY"),
            Self::AfterInsert => (StatusCode::INTERNAL_SERVER_ERROR, "FAILED_AFTER_INSERT"),
            Self::Refused(error) => return error.into_response(),
            Self::NoProfile => (StatusCode::NOT_FOUND, "NO_PROFILE"),
            Self::Sql(error) => {
                eprintln!("the database failed: {error}");
                (StatusCode::INTERNAL_SERVER_ERROR, "DATABASE_FAILED")
            }
        };
        let problem = Json(serde_json::json!({ "status": status.as_u16(), "code": code }));
        let problem_type = HeaderValue::from_static("application/problem+json");
        (status, [(header::CONTENT_TYPE, problem_type)], problem).into_response()
    }
}
