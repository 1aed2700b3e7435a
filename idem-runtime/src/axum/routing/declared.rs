//! Stands around every declared handler and holds a delegating one to its word.

use std::future::Future;
use std::pin::Pin;

use axum::extract::{MatchedPath, Request};
use axum::handler::Handler;
use axum::http::HeaderValue;
use axum::response::{IntoResponse, Response};

use crate::axum::answer::{REPLAYED, set_expiry};
use crate::axum::routing::DeclaresStance;
use crate::axum::routing::wrapper::Wrapped;
use crate::error::Error;
use crate::guard::watched;
use crate::telemetry::UNCLAIMED_ANSWERS;

/// A handler of a writing route.
#[derive(Debug, Clone)]
pub(super) struct Declared<H>(pub(super) H);

impl<H, T, S> Handler<Wrapped<T>, S> for Declared<H>
where
    H: Handler<T, S>,
    T: DeclaresStance + 'static,
    S: Send + 'static,
{
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, state: S) -> Self::Future {
        let method = request.method().clone();
        // The path as the program wrote it: the one that the client sent may name a tenant.
        let path = request.extensions().get::<MatchedPath>().cloned();
        let handling = self.0.call(request, state);
        if !T::DELEGATED {
            return Box::pin(handling);
        }
        Box::pin(async move {
            let (mut response, seen) = watched(handling).await;
            if response.status().is_success() && !seen.claimed {
                tracing::error!(%method, path = path.as_ref().map(MatchedPath::as_str), "a delegating handler answered without a guarded operation");
                ::metrics::counter!(UNCLAIMED_ANSWERS).increment(1);
                return Error::NotClaimed.into_response();
            }
            if let Some(expires_at) = seen.expires_at {
                set_expiry(response.headers_mut(), expires_at);
            }
            if seen.claimed && !seen.fresh {
                response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            }
            response
        })
    }
}
