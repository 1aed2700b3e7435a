//! What can go wrong: in the shop, and in the demo that watches it.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// An error of the shop. A guarded handler records it as the answer, with the status that it has here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    /// A statement of ours failed.
    #[error("the shop's database failed")]
    Database(#[from] sqlx::Error),
    /// The payment provider said no.
    #[error("the card was declined")]
    Declined,
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Database(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Declined => StatusCode::PAYMENT_REQUIRED,
        };
        (status, Json(serde_json::json!({ "error": self.to_string() }))).into_response()
    }
}

/// Why the demo failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// Something else came than the step promises.
    #[error("{at}: did not expect {came}")]
    Unexpected { at: &'static str, came: String },
    #[error("something happened twice")]
    DoubleEffects,
    #[error("the service ended before it said {0:?}")]
    ServiceEnded(&'static str),
    #[error("the service cannot be started")]
    Process(#[from] std::io::Error),
    #[error("the service cannot be reached")]
    Http(#[from] hyper_util::client::legacy::Error),
    #[error("an answer broke off")]
    Body(#[from] hyper::Error),
    #[error("a request cannot be written")]
    Request(#[from] axum::http::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the guard cannot be built")]
    Build(#[from] idem_runtime::BuildError),
    #[error(transparent)]
    Guard(#[from] idem_runtime::Error),
}

impl DemoError {
    pub(crate) fn unexpected(at: &'static str, came: impl std::fmt::Debug) -> Self {
        Self::Unexpected { at, came: format!("{came:?}") }
    }
}
