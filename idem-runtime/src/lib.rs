//! idem makes a write happen once, however often the client sends it.

#![forbid(unsafe_code)]
#![warn(clippy::unwrap_used)]

#[cfg(feature = "axum")]
pub mod axum;
mod decision;
mod error;
pub mod fingerprint;
mod guard;
mod key;
mod mutation;
mod policy;
#[doc(hidden)]
pub mod private;
mod record;
pub mod store;

pub use decision::{ClaimKind, Decision, decide, is_over};
pub use error::{Cause, Error};
pub use fingerprint::{Comparison, Fingerprint, FingerprintError, HttpRequest, Keyring, Secret};
pub use guard::{
    BuildError, Claim, DownstreamKey, GuardBuilder, Idempotency, IdempotencyMutationGuard, Operation,
    Outcome, Recordable, Request, Success,
};
#[doc(hidden)]
pub use private as __private;

/// Makes a handler or a service function run once per tenant, user, route and idempotency key.
pub use idem_macros::idempotent;
pub use key::{IdempotencyKey, KeyError, RecordKey, Route, Scope};
pub use mutation::Mutation;
pub use policy::{Defaults, Mode, OnLapse, Policy, PolicyError, Terms};
pub use record::{Answer, AnswerBody, Bindings, FencingToken, Reading, Record, Status, Timestamp};

/// The guard on SQLite, which is compiled in.
#[cfg(feature = "sqlite")]
pub mod sqlite {
    /// The guard; short for [`crate::IdempotencyMutationGuard`].
    pub type Guard = crate::IdempotencyMutationGuard<sqlx::Sqlite>;
    /// The guard under its long name.
    pub type IdempotencyMutationGuard = Guard;
    /// A request at the guard.
    pub type Idempotency = crate::Idempotency<sqlx::Sqlite>;
    /// The body's transaction.
    pub type Mutation = crate::Mutation<sqlx::Sqlite>;
    /// The body's claim in external mode.
    pub type Claim = crate::Claim<sqlx::Sqlite>;
    /// The first argument of a handler that passes the request on to a guarded service function.
    #[cfg(feature = "axum")]
    pub type Delegated = crate::axum::Delegated<sqlx::Sqlite>;
}

/// The guard on PostgreSQL 13 and later.
#[cfg(feature = "postgres")]
pub mod postgres {
    /// The guard; short for [`crate::IdempotencyMutationGuard`].
    pub type Guard = crate::IdempotencyMutationGuard<sqlx::Postgres>;
    /// The guard under its long name.
    pub type IdempotencyMutationGuard = Guard;
    /// A request at the guard.
    pub type Idempotency = crate::Idempotency<sqlx::Postgres>;
    /// The body's transaction.
    pub type Mutation = crate::Mutation<sqlx::Postgres>;
    /// The body's claim in external mode.
    pub type Claim = crate::Claim<sqlx::Postgres>;
    /// The first argument of a handler that passes the request on to a guarded service function.
    #[cfg(feature = "axum")]
    pub type Delegated = crate::axum::Delegated<sqlx::Postgres>;
}
