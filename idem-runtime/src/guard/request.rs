//! A request as the guard sees it: scope, key and what was asked.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;

use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::guard::IdempotencyMutationGuard;
use crate::key::{IdempotencyKey, RecordKey, Scope};
use crate::record::{Record, Timestamp};
use crate::store::Store;

/// Who asks, under which key, at which guard: what a handler receives and passes on as `&idem`.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # use idem_runtime::{sqlite::Guard, IdempotencyKey, Scope};
/// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
/// # let guard = Guard::builder(pool).migrate().build().await?;
/// let idem = guard.request(Scope::new("acme", "user-7")?, IdempotencyKey::new("k1")?);
/// let line = idem.child("line-2");
/// assert_ne!(idem.key(), line.key());
/// assert_eq!(line.key(), idem.child("line-2").key());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
///
/// `I` is who asks at a route: the application's own identity, or another one that the route names.
pub struct Idempotency<S: Store, I = Own> {
    guard: IdempotencyMutationGuard<S>,
    scope: Scope,
    key: IdempotencyKey,
    origin: Option<Origin>,
    identity: PhantomData<fn() -> I>,
}

/// The application's own identity: what `Idempotency` means where a route names no other.
#[derive(Debug, Clone, Copy)]
pub enum Own {}

/// The claimed operation inside which this request stands.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) key: RecordKey,
    pub(crate) created_at: Timestamp,
}

impl Origin {
    pub(super) fn of(record: &Record) -> Self {
        Self { key: record.key.clone(), created_at: record.created_at }
    }
}

impl<S: Store, I> Clone for Idempotency<S, I> {
    fn clone(&self) -> Self {
        Self {
            guard: self.guard.clone(),
            scope: self.scope.clone(),
            key: self.key.clone(),
            origin: self.origin.clone(),
            identity: PhantomData,
        }
    }
}

impl<S: Store, I> fmt::Debug for Idempotency<S, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency")
            .field("scope", &self.scope)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl<S: Store> Idempotency<S> {
    /// This request as seen from inside its own claim.
    pub(super) fn inside(guard: IdempotencyMutationGuard<S>, origin: Origin) -> Self {
        let (scope, key) = (origin.key.scope().clone(), origin.key.key().clone());
        Self { guard, scope, key, origin: Some(origin), identity: PhantomData }
    }
}

impl<S: Store, I> Idempotency<S, I> {
    pub(crate) fn new(guard: IdempotencyMutationGuard<S>, scope: Scope, key: IdempotencyKey) -> Self {
        Self { guard, scope, key, origin: None, identity: PhantomData }
    }

    /// Tenant and user.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// The guard that this request was made at.
    #[must_use]
    pub fn guard(&self) -> &IdempotencyMutationGuard<S> {
        &self.guard
    }

    /// The request of a further operation inside this one, the same at every retry.
    ///
    /// Its key is derived from this key and `name`, inside a claim also from the claim's route and life, so
    /// that a key that is used again after its end has new children. No client can send a derived key.
    #[must_use]
    pub fn child(&self, name: &str) -> Idempotency<S> {
        let (route, life) = self
            .origin
            .as_ref()
            .map(|origin| (origin.key.route().as_str(), origin.created_at.as_micros().to_string()))
            .unwrap_or_default();
        let key = IdempotencyKey::derived("child", &[route, self.key.as_str(), &life, name]);
        Idempotency::new(self.guard.clone(), self.scope.clone(), key)
    }

    /// This request with what was asked, fingerprinted through `Serialize`.
    ///
    /// Members that `value` skips when serialising are not part of the fingerprint, and a set must
    /// serialise in a stable order, or a retry looks like another request.
    pub fn of<T: Serialize + ?Sized>(&self, value: &T) -> Result<Request, Error> {
        Ok(self.with(Fingerprint::of(value)?))
    }

    /// This request with a fingerprint that was made elsewhere.
    #[must_use]
    pub fn with(&self, fingerprint: Fingerprint) -> Request {
        Request::new(self.scope.clone(), self.key.clone(), fingerprint)
    }
}

/// A request that can run: scope, key and fingerprint.
#[derive(Debug, Clone)]
pub struct Request {
    pub(super) scope: Scope,
    pub(super) key: IdempotencyKey,
    pub(super) fingerprint: Fingerprint,
}

impl Request {
    /// A request of `scope` under `key`.
    #[must_use]
    pub fn new(scope: Scope, key: IdempotencyKey, fingerprint: Fingerprint) -> Self {
        Self { scope, key, fingerprint }
    }
}
