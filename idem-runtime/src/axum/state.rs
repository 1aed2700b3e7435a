//! Who is asking: the application says it, there is no default.

use std::sync::Arc;

use axum::extract::FromRequestParts;

use crate::guard::IdempotencyMutationGuard;
use crate::key::{KeyError, Scope};
use crate::store::Store;

/// What the extractor needs of an application's state: its guard, and whose request it is.
///
/// ```
/// use axum::extract::FromRequestParts;
/// use axum::http::{StatusCode, request::Parts};
/// use idem_runtime::{axum::IdempotencyState, sqlite::Guard, KeyError, Scope};
///
/// struct User { tenant: String, id: String }
///
/// impl<S: Sync> FromRequestParts<S> for User {
///     type Rejection = StatusCode;
///     async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
///         Err(StatusCode::UNAUTHORIZED) // check a session or a token here
///     }
/// }
///
/// #[derive(Clone)]
/// struct App { guard: Guard }
///
/// impl IdempotencyState for App {
///     type Store = sqlx::Sqlite;
///     type Identity = User;
///     fn guard(&self) -> &Guard { &self.guard }
///     fn scope(user: &User) -> Result<Scope, KeyError> { Scope::new(&user.tenant, &user.id) }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say who is asking",
    label = "no identity and no guard for idempotent routes",
    note = "implement `idem_runtime::axum::IdempotencyState` for `{Self}`: its `Identity` is your own extractor"
)]
pub trait IdempotencyState: Sized {
    /// The database of the guard: `sqlx::Sqlite`, `sqlx::Postgres` or `sqlx::MySql`.
    type Store: Store;
    /// The application's own extractor of the authenticated user; its rejection comes before any claim.
    type Identity: FromRequestParts<Self> + Send;

    /// The guard.
    fn guard(&self) -> &IdempotencyMutationGuard<Self::Store>;

    /// Tenant and user of a request. An application with one tenant writes its one name here.
    fn scope(identity: &Self::Identity) -> Result<Scope, KeyError>;
}

impl<T> IdempotencyState for Arc<T>
where
    T: IdempotencyState,
    T::Identity: FromRequestParts<Self>,
{
    type Store = T::Store;
    type Identity = T::Identity;

    fn guard(&self) -> &IdempotencyMutationGuard<T::Store> {
        T::guard(self)
    }

    fn scope(identity: &T::Identity) -> Result<Scope, KeyError> {
        T::scope(identity)
    }
}
