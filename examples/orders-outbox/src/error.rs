//! What can go wrong: with an order, with an event, and in the demo that watches both.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::mail::MailError;

/// An error of a handler of requests or of events; the next delivery of an event tries again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    /// A statement of ours failed.
    #[error("the database of the orders failed")]
    Database(#[from] sqlx::Error),
    /// Nobody knows whether the mail was sent.
    #[error(transparent)]
    Mail(#[from] MailError),
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let body = Json(serde_json::json!({ "error": self.to_string() }));
        (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
    }
}

/// Why the demo failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// Something else came than the demo promises.
    #[error("{at}: did not expect {came}")]
    Unexpected { at: &'static str, came: String },
    #[error("something happened twice, not at all, or in the wrong order")]
    Broken,
    #[error("a process ended before it said {0:?}")]
    ProcessEnded(&'static str),
    #[error("a process cannot be started")]
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
}

impl DemoError {
    pub(crate) fn unexpected(at: &'static str, came: impl std::fmt::Debug) -> Self {
        Self::Unexpected { at, came: format!("{came:?}") }
    }
}
