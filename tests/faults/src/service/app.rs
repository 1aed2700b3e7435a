//! The state of the service, and who is asking.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use idem_runtime::axum::IdempotencyState;
use idem_runtime::{IdempotencyMutationGuard, KeyError, Scope};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::partner::Partner;
use super::points::Points;
use super::rows::{Limits, Rows};
use super::{Arguments, StartError};
use crate::routes::{Owner, Route};

/// What every handler can reach.
#[derive(Debug)]
pub(crate) struct App<D: Rows> {
    guard: IdempotencyMutationGuard<D>,
    pub(crate) points: Points,
    pub(crate) partner: Partner,
    pub(crate) limits: Limits,
    /// How many answers of 500 and above went out.
    pub(crate) refusals: Arc<AtomicU64>,
}

impl<D: Rows> Clone for App<D> {
    fn clone(&self) -> Self {
        Self {
            guard: self.guard.clone(),
            points: self.points.clone(),
            partner: self.partner.clone(),
            limits: self.limits.clone(),
            refusals: Arc::clone(&self.refusals),
        }
    }
}

impl<D: Rows> App<D> {
    /// Connects to the database that was prepared.
    pub(crate) async fn open(arguments: &Arguments) -> Result<Self, StartError> {
        let (points, limits) = (Points::default(), Limits::default());
        let hooks = Some((points.clone(), limits.clone()));
        let pool = D::open(&arguments.database_url, arguments.connections, hooks).await?;
        let guard =
            IdempotencyMutationGuard::builder(pool).statement_timeout(Duration::from_secs(1)).build().await?;
        let partner = Partner::new(&arguments.provider)?;
        Ok(Self { guard, points, partner, limits, refusals: Arc::default() })
    }
}

impl<D: Rows> IdempotencyState for App<D> {
    type Store = D;
    type Identity = Caller;

    fn guard(&self) -> &IdempotencyMutationGuard<D> {
        &self.guard
    }

    fn scope(caller: &Caller) -> Result<Scope, KeyError> {
        Scope::new(&caller.tenant, &caller.user)
    }
}

impl<D: Rows> App<D> {
    /// The guard, without naming the trait.
    pub(crate) fn guard(&self) -> &IdempotencyMutationGuard<D> {
        &self.guard
    }
}

/// Who is asking; a real application would check a token here.
#[derive(Debug)]
pub(crate) struct Caller {
    tenant: String,
    user: String,
    key: String,
}

impl Caller {
    /// Whose effect the body makes.
    pub(crate) fn owner(&self, route: Route) -> Owner {
        Owner { tenant: self.tenant.clone(), user: self.user.clone(), route, key: self.key.clone() }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let named = |name| {
            let text = parts.headers.get(name).and_then(|value| value.to_str().ok());
            text.map(str::to_owned).ok_or(StatusCode::UNAUTHORIZED)
        };
        Ok(Self { tenant: named("x-tenant")?, user: named("x-user")?, key: named("idempotency-key")? })
    }
}
