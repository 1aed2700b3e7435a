//! Who asks at one route: the application's own identity, or another one that the route names.

use std::future::Future;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

use crate::axum::state::IdempotencyState;
use crate::guard::Own;
use crate::key::{KeyError, Scope};

/// Another identity than the application's own, named by a route as `Idempotency<WebhookSender>`.
///
/// It is an extractor of your own: what it refuses is refused before any claim, and there is no fallback to
/// [`IdempotencyState::Identity`]. One route has one identity; where routes of two identities call the same guarded
/// service function, only tenant and user tell their requests apart, so give names that no user can have.
///
/// ```
/// use axum::extract::FromRequestParts;
/// use axum::http::{StatusCode, request::Parts};
/// use idem_runtime::{KeyError, Mutation, Scope, axum::RouteIdentity, idempotent, sqlite::Idempotency};
///
/// struct WebhookSender { name: String }
///
/// impl<S: Sync> FromRequestParts<S> for WebhookSender {
///     type Rejection = StatusCode;
///     async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
///         Err(StatusCode::UNAUTHORIZED) // check the sender's credentials here
///     }
/// }
///
/// impl RouteIdentity for WebhookSender {
///     fn scope(&self) -> Result<Scope, KeyError> { Scope::new("webhooks", &self.name) }
/// }
///
/// #[derive(serde::Deserialize)]
/// struct Event { id: String }
///
/// #[idempotent(route = "webhooks.payment", preset = webhook, key = &event.id)]
/// async fn paid(idem: Idempotency<WebhookSender>, axum::Json(event): axum::Json<Event>) -> String {
///     event.id
/// }
/// ```
pub trait RouteIdentity: Send {
    /// Tenant and user of a request. An error is a mistake of the application: the client gets a 500.
    fn scope(&self) -> Result<Scope, KeyError>;
}

/// Who may stand as `I` in `Idempotency<I>`: nobody without a scope.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say whose requests these are",
    label = "an identity without a scope",
    note = "give it tenant and user: `impl idem_runtime::axum::RouteIdentity for {Self} {{ fn scope(&self) -> \
            Result<Scope, KeyError> {{ Scope::new(\"webhooks\", &self.name) }} }}`",
    note = "or write `Idempotency` without a parameter for the application's own identity"
)]
pub trait Asking {}

impl Asking for Own {}

#[diagnostic::do_not_recommend]
impl<I: RouteIdentity> Asking for I {}

/// How the scope of a request is found in an application with the state `A`.
pub trait Asks<A>: Asking {
    /// The scope, or the refusal of the identity's extractor.
    fn scope_of(
        parts: &mut Parts,
        state: &A,
    ) -> impl Future<Output = Result<Result<Scope, KeyError>, Response>> + Send;
}

impl<A: IdempotencyState + Sync> Asks<A> for Own {
    async fn scope_of(parts: &mut Parts, state: &A) -> Result<Result<Scope, KeyError>, Response> {
        let identity = A::Identity::from_request_parts(parts, state).await;
        identity.map(|identity| A::scope(&identity)).map_err(IntoResponse::into_response)
    }
}

impl<A, I> Asks<A> for I
where
    A: Sync,
    I: RouteIdentity + FromRequestParts<A>,
{
    async fn scope_of(parts: &mut Parts, state: &A) -> Result<Result<Scope, KeyError>, Response> {
        let identity = I::from_request_parts(parts, state).await;
        identity.map(|identity| identity.scope()).map_err(IntoResponse::into_response)
    }
}
