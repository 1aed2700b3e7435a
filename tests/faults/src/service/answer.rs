//! What a body gives: an answer that names its owner, or a failure.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::points::Points;
use crate::plan::Point;
use crate::routes::Effect;

/// The answer of a body that had its effect.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) effect: Effect,
    pub(crate) points: Points,
}

impl IntoResponse for Answer {
    /// The guard asks for it after the body and before the completion.
    fn into_response(self) -> Response {
        self.points.reach(Point::BeforeCommit, &self.effect.payload);
        let location = format!("/{}", self.effect.token);
        (StatusCode::CREATED, [(header::LOCATION, location)], Json(self.effect)).into_response()
    }
}

/// Why a body failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// As the request asked for.
    #[error("failed as asked")]
    Asked(Box<Effect>),
    /// The database or the provider did not do its part; nothing is known to be wrong with the request.
    #[error("try again: {0}")]
    Transient(String),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Transient(error.to_string())
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        Self::Transient(error.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        match self {
            Self::Asked(effect) => (StatusCode::PAYMENT_REQUIRED, Json(effect)).into_response(),
            Self::Transient(detail) => {
                let content = Json(serde_json::json!({ "code": "TRANSIENT", "detail": detail }));
                (StatusCode::SERVICE_UNAVAILABLE, content).into_response()
            }
        }
    }
}
