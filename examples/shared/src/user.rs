//! Who is asking, in the examples that have logged-in users.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use idem_runtime::{KeyError, Scope};

/// Who is asking. A real service checks a session or a token here, and refuses with 401 as this one does.
#[derive(Debug, Clone)]
pub struct User {
    /// The header `x-tenant`.
    pub tenant: String,
    /// The header `x-user`.
    pub name: String,
}

impl User {
    /// Whose keys these are.
    pub fn scope(&self) -> Result<Scope, KeyError> {
        Scope::new(&self.tenant, &self.name)
    }
}

impl<S: Sync> FromRequestParts<S> for User {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let named = |name| -> Result<String, StatusCode> {
            let value = parts.headers.get(name).and_then(|value| value.to_str().ok());
            value.map(str::to_owned).ok_or(StatusCode::UNAUTHORIZED)
        };
        Ok(Self { tenant: named("x-tenant")?, name: named("x-user")? })
    }
}
