//! The small application that the cases annotate.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use idem_runtime::axum::{IdempotencyState, RouteIdentity};
use idem_runtime::sqlite::Guard;
use idem_runtime::{Error, KeyError, Scope};
use serde::{Deserialize, Serialize};

/// The application's state.
#[derive(Clone, Debug)]
pub struct App {
    /// The guard.
    pub guard: Guard,
}

/// The authenticated user.
#[derive(Debug)]
pub struct User;

impl<S: Sync> FromRequestParts<S> for User {
    type Rejection = StatusCode;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        Ok(Self)
    }
}

impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = User;

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn scope(_: &User) -> Result<Scope, KeyError> {
        Scope::new("acme", "user-7")
    }
}

/// The application's error.
#[derive(Debug, Serialize, Deserialize)]
pub enum AppError {
    /// Somebody else is at it.
    Busy,
    /// Anything else.
    Other,
}

impl From<Error> for AppError {
    fn from(_: Error) -> Self {
        Self::Other
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}

/// What is ordered.
#[derive(Debug, Serialize, Deserialize)]
pub struct CreateOrder {
    /// The article.
    pub sku: String,
}

/// An order.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// Its number.
    pub id: i64,
    /// The task that ships it.
    pub task_id: String,
}

/// Who sends a webhook.
#[derive(Debug)]
pub struct Sender;

impl<S: Sync> FromRequestParts<S> for Sender {
    type Rejection = StatusCode;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        Ok(Self)
    }
}

impl RouteIdentity for Sender {
    fn scope(&self) -> Result<Scope, KeyError> {
        Scope::new("webhooks", "bank")
    }
}

/// A handler of another crate.
#[allow(clippy::unused_async)]
pub async fn foreign_handler() -> &'static str {
    "created"
}
