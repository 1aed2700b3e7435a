//! idem makes a write happen once, however often the client sends it.
//!
//! A client that times out sends its request again. A guarded handler or service function runs once per tenant,
//! user, route and idempotency key; the retry gets the answer of the first attempt. The business rows and the
//! record commit in one transaction, fenced by the attempt, and a duplicate sees at once that the first is at
//! work.
//!
//! - [`idempotent`] annotates a handler or a service function; [`axum::Router`] refuses routes without a stance.
//! - [`IdempotencyMutationGuard`], or `Guard`, does the same by a closure.
//! - [`decide`] is the one place that says what a request gets from a record.
//! - [`store`] carries it out on each database.
//!
//! | feature | default | what it brings |
//! |---|---|---|
//! | `sqlite` | yes | the store on SQLite, compiled in |
//! | `postgres` | no | the store on PostgreSQL 13 and later |
//! | `axum` | yes | extractor, replayed answers and typed routes for axum 0.8 |
//! | `mysql` | no | reserved |

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
    Outcome, Own, Recordable, Request, Success,
};
#[doc(hidden)]
pub use private as __private;

/// Makes a handler or a service function run once per tenant, user, route and idempotency key.
///
/// The first parameter tells the two apart: `idem: Idempotency` makes a handler, which axum calls and which
/// returns anything that is `IntoResponse`; `idem: &Idempotency` makes a service function, which your own code
/// calls and which returns a `Result<T, E>` with `T: Serialize + DeserializeOwned` and `E: From<Error>`.
///
/// With a parameter `mutation: &mut Mutation` the body runs in one transaction with its record; callers pass
/// nothing for it. Without one it runs between a durable claim and a durable answer, and `idem` has
/// [`downstream_key`](Claim::downstream_key) and [`bind_task`](Claim::bind_task).
///
/// | option | meaning | default |
/// |---|---|---|
/// | `route = "orders.create"` | stable name, of `a-z 0-9 . _ -` | required |
/// | `retry_failed = true` | the same key may run again after a failure | `false` |
/// | `bind = task_id` | a field of the success value; or `bind(task_id = value.id, outbox_event_id = ...)` | nothing |
/// | `ttl = "24h"` | how long the answer is kept | the guard's, 24 h |
/// | `lease = "30s"` | how long an attempt owns its record without renewal | the guard's, 30 s |
/// | `wait = "2s"` | how long a duplicate waits for the first attempt | not at all |
/// | `max_run = "15m"` | how long a lease is renewed | the guard's, 15 min |
/// | `on_lapse = "refuse"` | without `mutation`: a stopped attempt waits for an operator | `"rerun"` |
/// | `release_on(AppError::Busy)` | errors after which the claim is given back | none |
/// | `key = optional` | handlers: a request without a key runs all the same; or an expression, `key = &event.id` | `required` |
/// | `fingerprint(ignore("/meta/sent_at"))` | handlers: JSON pointers that may differ in a retry | none |
/// | `headers("x-trace")` | handlers: headers to replay besides the usual ones | none |
/// | `preset = webhook` | handlers: `wait = "2s"`, `retry_failed = true`, `ttl = "4d"` | no |
/// | `fingerprint(skip(clock))` | service functions: arguments that may differ; or `fingerprint = expression` | none |
/// | `status = 201` | service functions: the status that is recorded | 200 |
/// | `failure = serde` | service functions: a repeated failure gives the recorded `E` | [`Error::Failed`] |
///
/// A handler's failure is an `Err`, or a status of 400 and above; it rolls back and is given again. What refuses
/// before the body, such as an extractor, leaves no record. `#[tracing::instrument]` and `#[axum::debug_handler]`
/// stand below this attribute.
///
/// ```
/// use axum::Json;
/// use idem_runtime::sqlite::{Idempotency, Mutation};
/// use idem_runtime::{Error, idempotent};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Order { sku: String, task_id: String }
/// # struct Clock;
///
/// #[idempotent(route = "orders.create", bind = task_id, release_on(Error::StoreUnavailable(_)))]
/// async fn create(idem: Idempotency, mutation: &mut Mutation, Json(order): Json<Order>) -> Result<Json<Order>, Error> {
///     let insert = sqlx::query("INSERT INTO orders (sku) VALUES (?1)").bind(&order.sku);
///     insert.execute(&mut **mutation).await.map_err(|error| Error::StoreUnavailable(Some(error.into())))?;
///     Ok(Json(order))
/// }
///
/// #[idempotent(route = "payments.charge", on_lapse = "refuse", fingerprint(skip(clock)))]
/// async fn charge(idem: &Idempotency, cents: u64, clock: &Clock) -> Result<String, Error> {
///     Ok(format!("charged {cents} under {}", idem.downstream_key("charge")))
/// }
/// ```
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
    /// A request at the guard, of the application's own identity or of the one named as `I`.
    pub type Idempotency<I = crate::Own> = crate::Idempotency<sqlx::Sqlite, I>;
    /// The body's transaction.
    pub type Mutation = crate::Mutation<sqlx::Sqlite>;
    /// The body's claim in external mode.
    pub type Claim = crate::Claim<sqlx::Sqlite>;
    /// The first argument of a handler that passes the request on to a guarded service function.
    #[cfg(feature = "axum")]
    pub type Delegated<I = crate::Own> = crate::axum::Delegated<sqlx::Sqlite, I>;
}

/// The guard on PostgreSQL 13 and later.
#[cfg(feature = "postgres")]
pub mod postgres {
    /// The guard; short for [`crate::IdempotencyMutationGuard`].
    pub type Guard = crate::IdempotencyMutationGuard<sqlx::Postgres>;
    /// The guard under its long name.
    pub type IdempotencyMutationGuard = Guard;
    /// A request at the guard, of the application's own identity or of the one named as `I`.
    pub type Idempotency<I = crate::Own> = crate::Idempotency<sqlx::Postgres, I>;
    /// The body's transaction.
    pub type Mutation = crate::Mutation<sqlx::Postgres>;
    /// The body's claim in external mode.
    pub type Claim = crate::Claim<sqlx::Postgres>;
    /// The first argument of a handler that passes the request on to a guarded service function.
    #[cfg(feature = "axum")]
    pub type Delegated<I = crate::Own> = crate::axum::Delegated<sqlx::Postgres, I>;
}
