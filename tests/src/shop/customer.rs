//! Who is asking: two headers, as a real application would check a token.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;

/// The customer of a request: `x-user`, of the tenant `x-tenant` or of `acme`.
#[derive(Debug, Clone)]
pub struct Customer {
    /// Whose customer it is.
    pub tenant: String,
    /// Who it is.
    pub user: String,
}

impl<S: Sync> FromRequestParts<S> for Customer {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let user = header("x-user").ok_or(StatusCode::UNAUTHORIZED)?;
        Ok(Self { tenant: header("x-tenant").unwrap_or_else(|| "acme".to_owned()), user })
    }
}
