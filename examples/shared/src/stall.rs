//! A body that stands still, so that a demo can kill the service there.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::service::say;

/// Makes a body stand still where it says so, when the request has the header `x-stall`; a header is no part of
/// the fingerprint.
#[derive(Debug)]
pub struct Stall(bool);

impl<S: Sync> FromRequestParts<S> for Stall {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.headers.contains_key("x-stall")))
    }
}

impl Stall {
    /// Says `line` and stands still for ever, or goes on at once.
    pub async fn here(&self, line: &str) {
        if self.0 {
            say(line);
            std::future::pending::<()>().await;
        }
    }
}
