//! The state of the app, and who is asking.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use idem_runtime::axum::IdempotencyState;
use idem_runtime::{IdempotencyMutationGuard, KeyError, Scope};
use sqlx::Pool;

use crate::business::Business;
use crate::error::StartError;
use crate::{Arguments, visit};

const CONNECTIONS: u32 = 16;
const MAX_ANSWER: usize = 2 * 1024 * 1024;

/// What every handler can reach.
#[derive(Debug)]
pub struct App<D: Business> {
    guard: IdempotencyMutationGuard<D>,
    /// Apart from the guard's pool, so that an entry counts although the body rolls back.
    pub(crate) entries: Pool<D>,
}

impl<D: Business> Clone for App<D> {
    fn clone(&self) -> Self {
        Self { guard: self.guard.clone(), entries: self.entries.clone() }
    }
}

impl<D: Business> App<D> {
    /// Connects, makes the tables and builds the guard.
    ///
    /// # Errors
    ///
    /// When the database cannot be used.
    pub async fn open(arguments: &Arguments) -> Result<Self, StartError> {
        let url = &arguments.database_url;
        let pool = D::open(url, CONNECTIONS).await?;
        D::create_rows(&pool).await?;
        let counts_url = arguments.counts_url.clone().unwrap_or_else(|| D::counts_url(url));
        let entries = D::open(&counts_url, CONNECTIONS).await?;
        D::create_entries(&entries).await?;
        let guard = IdempotencyMutationGuard::builder(pool)
            .migrate()
            .max_answer_bytes(MAX_ANSWER)
            .keyring(crate::keys::keyring(&arguments.secrets)?)
            .statement_timeout(arguments.patience())
            .build()
            .await?;
        Ok(Self { guard, entries })
    }

    /// The pool of the business rows.
    pub(crate) fn pool(&self) -> &Pool<D> {
        self.guard.pool()
    }
}

impl<D: Business> IdempotencyState for App<D> {
    type Store = D;
    type Identity = Caller;

    fn guard(&self) -> &IdempotencyMutationGuard<D> {
        &self.guard
    }

    fn scope(caller: &Caller) -> Result<Scope, KeyError> {
        Scope::new(&caller.tenant, &caller.user)
    }
}

/// Who is asking; a real application would check a token here.
#[derive(Debug)]
pub struct Caller {
    tenant: String,
    user: String,
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let named = |name| visit::text_of(parts, name).ok_or(StatusCode::UNAUTHORIZED);
        Ok(Self { tenant: named("x-tenant")?, user: named("x-user")? })
    }
}
