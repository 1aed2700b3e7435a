//! idem makes a write happen once, however often the client sends it.
//!
//! A client that times out sends its request again. A guarded handler or service function runs once per tenant,
//! user, route and idempotency key; the retry gets the answer of the first attempt. The business rows and the
//! record commit in one transaction, fenced by the attempt, and a duplicate sees at once that the first is at
//! work.
//!
//! - [`idempotent`] annotates a handler or a service function; [`axum::Router`] refuses routes without a stance.
//! - [`IdempotencyMutationGuard`], or `Guard`, does the same by a closure.
//! - [`exempt`](macro@exempt) and [`read_only`](macro@read_only) are the other two stances; [`service`] asks every
//!   public function of a block for one, and [`registry`] lists them all.
//! - [`decide`] is the one place that says what a request gets from a record.
//! - [`diagnose`] says to an operator what the next request would get, and why.
//! - [`outbox`] delivers events that commit with the rows they tell of; [`Inbox`] receives messages from elsewhere.
//! - [`store`] carries it out on each database.
//!
//! | feature | default | what it brings |
//! |---|---|---|
//! | `sqlite` | yes | the store on SQLite, compiled in |
//! | `postgres` | no | the store on PostgreSQL 13 and later |
//! | `mysql` | no | the store on MySQL 8 and MariaDB 10.6 and later |
//! | `axum` | yes | extractor, replayed answers and typed routes for axum 0.8 |
//! | `nats` | no | messages from and events to NATS JetStream |

#![forbid(unsafe_code)]
#![warn(clippy::unwrap_used)]

#[cfg(feature = "axum")]
pub mod axum;
mod decision;
mod diagnosis;
pub mod encryption;
mod error;
pub mod fingerprint;
mod guard;
mod inbox;
mod key;
mod maintenance;
mod mutation;
#[cfg(feature = "nats")]
pub mod nats;
pub mod outbox;
mod policy;
#[doc(hidden)]
pub mod private;
mod read_pool;
mod record;
pub mod registry;
pub mod store;
pub mod telemetry;

pub use decision::{ClaimKind, Decision, decide, is_over};
pub use diagnosis::{Diagnosis, Next, Verdict, compare_hashes, diagnose};
pub use error::{Cause, Error};
pub use fingerprint::{Comparison, Fingerprint, FingerprintError, HttpRequest, Keyring, Secret};
pub use guard::{
    BuildError, Claim, DownstreamKey, GuardBuilder, Idempotency, IdempotencyMutationGuard, Operation,
    Outcome, Own, Recordable, Recovery, Request, Steps, Success,
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
/// | `release_on(AppError::Busy)` | errors after which the claim is given back; or a predicate, `release_on = is_busy` | none |
/// | `steps` | without `mutation`: `idem` is [`Steps`], which gives a derived key only inside a step | no |
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

/// Registers a function that a [`Dispatcher`](outbox::Dispatcher) calls for each event of a type and version.
///
/// The event comes first, as `&Delivery<Payload>`. With `mutation: &mut Mutation` the effects commit together with
/// the event's mark; with `claim: &Claim` they are outside, and get [`downstream_key`](Claim::downstream_key) to be
/// told apart. One more reference, `app: &App`, is what the dispatcher was given by
/// [`state`](outbox::DispatcherBuilder::state). The error is anything that can be displayed.
///
/// Each event takes effect once per handler, under the tenant and the actor of the event, however often it is
/// delivered. The function itself stays as it is and can be called.
///
/// | option | meaning | default |
/// |---|---|---|
/// | `event = "order.created"` | the type, of `a-z 0-9 . _ -` | required |
/// | `version = 1` | the version of the payload | required |
/// | `handler_key = "send-mail"` | names the handler among those of the event, for ever | required |
/// | `retry_failed = false` | a failed delivery is not repeated: the event is dead at once | `true` |
/// | `on_lapse = "refuse"` | with `claim`: a delivery that stopped waits for an operator | `"rerun"` |
/// | `ttl = "30d"` | how long a delivery is remembered; longer than events are tried | `"7d"` |
/// | `lease`, `max_run` | as those of [`idempotent`] | the guard's |
///
/// ```
/// use idem_runtime::outbox::Delivery;
/// use idem_runtime::outbox_handler;
/// use idem_runtime::sqlite::{Claim, Mutation};
/// # #[derive(serde::Deserialize)] struct OrderCreated { sku: String }
/// # struct Mailer; impl Mailer { async fn send(&self, _: &str, _: idem_runtime::DownstreamKey) -> Result<(), String> { Ok(()) } }
///
/// #[outbox_handler(event = "order.created", version = 1, handler_key = "count-stock")]
/// async fn count_stock(delivery: &Delivery<OrderCreated>, mutation: &mut Mutation) -> sqlx::Result<()> {
///     let update = sqlx::query("UPDATE stock SET left = left - 1 WHERE sku = ?1").bind(&delivery.payload().sku);
///     update.execute(&mut **mutation).await.map(|_| ())
/// }
///
/// #[outbox_handler(event = "order.created", version = 1, handler_key = "send-mail")]
/// async fn send_mail(delivery: &Delivery<OrderCreated>, mailer: &Mailer, claim: &Claim) -> Result<(), String> {
///     mailer.send(&delivery.payload().sku, claim.downstream_key("mail")).await
/// }
/// ```
pub use idem_macros::outbox_handler;

/// Declares that a retry may run a function again, and why; the function itself stays as it is.
///
/// `reason` is what a reviewer reads, in at least 10 characters. From the day after `until`, a date, `idem audit`
/// fails; the compiler never does, so that a build of today is a build of tomorrow. A route is exempted where it is
/// routed, by [`axum::exempt`](fn@crate::axum::exempt).
///
/// ```
/// use idem_runtime::exempt;
///
/// #[exempt(reason = "a mail that comes twice is better than none", until = "2027-12-31")]
/// pub async fn remind(address: &str) {}
/// ```
pub use idem_macros::exempt;

/// Declares that a function does not write; the function itself stays as it is.
///
/// A parameter whose type mentions `Mutation` does not compile. The attribute cannot see what the body does: give
/// it a [`ReadPool`], whose connections the database itself holds read-only. A route is declared where it is
/// routed, by [`axum::read_only`](fn@crate::axum::read_only).
///
/// ```
/// use idem_runtime::{read_only, sqlite::ReadPool};
///
/// #[read_only]
/// pub async fn count(reads: &ReadPool) -> sqlx::Result<i64> {
///     let mut connection = reads.acquire().await?;
///     sqlx::query_scalar("SELECT count(*) FROM orders").fetch_one(&mut *connection).await
/// }
/// ```
pub use idem_macros::read_only;

/// Asks every function that others call for a stance: `#[idempotent]`, `#[exempt(...)]` or `#[read_only]`.
///
/// It goes on an `impl` block, a trait, or a module with its content in braces, and looks at each `async fn`, and
/// each function that returns a future (`impl Future`, `BoxFuture`, `Pin<Box<dyn Future>>`):
///
/// - in an `impl` block of a type and in a module, those with any `pub`, also `pub(crate)`; private helpers are free;
/// - in a trait and in the `impl` block of a trait, all;
/// - in a module, also those of the blocks, traits and modules inside, except where a `#[service]` stands again.
///
/// The message names every function that lacks one, at its own name. A function under `#[cfg]` is asked when it is
/// compiled, and a stance inside `#[cfg_attr]` counts under its condition. Stances are known by their last word, so a
/// full path and a renamed runtime will do. In a trait, a function without a body is declared by a bare
/// `#[idempotent]`: its implementations are guarded, and their attributes have the options.
///
/// What a macro writes cannot be seen: a function that `make_service!()` puts into the block is not asked. Neither is
/// a function that is not `async` and returns no future. Where `#[async_trait]` is used, `#[service]` stands above it,
/// and the guarded function is a method of the type, which the trait's method calls.
///
/// ```
/// use idem_runtime::sqlite::{Idempotency, Mutation};
/// use idem_runtime::{Error, exempt, idempotent, read_only, service};
///
/// pub struct Orders;
///
/// #[service]
/// impl Orders {
///     #[idempotent(route = "orders.place")]
///     pub async fn place(&self, idem: &Idempotency, mutation: &mut Mutation, sku: &str) -> Result<(), Error> {
///         self.insert(mutation, sku).await
///     }
///
///     #[exempt(reason = "a second mail does no harm")]
///     pub async fn remind(&self) {}
///
///     #[read_only]
///     pub async fn count(&self) -> u64 { 0 }
///
///     async fn insert(&self, mutation: &mut Mutation, sku: &str) -> Result<(), Error> { Ok(()) }
/// }
/// ```
///
/// ```compile_fail
/// # pub struct Orders;
/// #[idem_runtime::service]
/// impl Orders {
///     pub async fn place(&self) {}
/// }
/// ```
pub use idem_macros::service;
pub use inbox::Inbox;
pub use key::{IdempotencyKey, KeyError, RecordKey, Route, Scope};
pub use maintenance::{Maintenance, MaintenanceHandle};
pub use mutation::Mutation;
pub use policy::{Defaults, Mode, OnLapse, Policy, PolicyError, Terms};
pub use read_pool::{ReadConnection, ReadPool, ReadPoolError, ReadStore};
pub use record::{Answer, AnswerBody, Bindings, FencingToken, Reading, Record, Sealed, Status, Timestamp};

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
    /// Messages from elsewhere.
    pub type Inbox = crate::Inbox<sqlx::Sqlite>;
    /// What delivers events.
    pub type Dispatcher = crate::outbox::Dispatcher<sqlx::Sqlite>;
    /// Connections that cannot write.
    pub type ReadPool = crate::ReadPool<sqlx::Sqlite>;
    /// One of them.
    pub type ReadConnection = crate::ReadConnection<sqlx::Sqlite>;
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
    /// Messages from elsewhere.
    pub type Inbox = crate::Inbox<sqlx::Postgres>;
    /// What delivers events.
    pub type Dispatcher = crate::outbox::Dispatcher<sqlx::Postgres>;
    /// Connections that cannot write.
    pub type ReadPool = crate::ReadPool<sqlx::Postgres>;
    /// One of them.
    pub type ReadConnection = crate::ReadConnection<sqlx::Postgres>;
    /// The first argument of a handler that passes the request on to a guarded service function.
    #[cfg(feature = "axum")]
    pub type Delegated<I = crate::Own> = crate::axum::Delegated<sqlx::Postgres, I>;
}

/// The guard on MySQL 8 and MariaDB 10.6 and later.
#[cfg(feature = "mysql")]
pub mod mysql {
    /// The guard; short for [`crate::IdempotencyMutationGuard`].
    pub type Guard = crate::IdempotencyMutationGuard<sqlx::MySql>;
    /// The guard under its long name.
    pub type IdempotencyMutationGuard = Guard;
    /// A request at the guard, of the application's own identity or of the one named as `I`.
    pub type Idempotency<I = crate::Own> = crate::Idempotency<sqlx::MySql, I>;
    /// The body's transaction.
    pub type Mutation = crate::Mutation<sqlx::MySql>;
    /// The body's claim in external mode.
    pub type Claim = crate::Claim<sqlx::MySql>;
    /// Messages from elsewhere.
    pub type Inbox = crate::Inbox<sqlx::MySql>;
    /// What delivers events.
    pub type Dispatcher = crate::outbox::Dispatcher<sqlx::MySql>;
    /// Connections that cannot write.
    pub type ReadPool = crate::ReadPool<sqlx::MySql>;

    /// Makes a session of a Galera node wait, before each statement, for what other nodes had committed.
    ///
    /// Without it an attempt that is asked on another node than its claim may find its own claim missing, and a
    /// guard refuses to be built. It sets `wsrep_sync_wait = 7` where the session waits for less, and does
    /// nothing on other servers. Where the sessions of one connection move between nodes, as behind some proxies,
    /// set it in the servers' configuration instead.
    ///
    /// ```no_run
    /// use idem_runtime::mysql::{Guard, wait_for_other_nodes};
    /// use sqlx::mysql::MySqlPoolOptions;
    ///
    /// # async fn start() -> Result<(), Box<dyn std::error::Error>> {
    /// let pool = MySqlPoolOptions::new()
    ///     .after_connect(|connection, _| Box::pin(wait_for_other_nodes(connection)))
    ///     .connect("mysql://shop@node1/shop")
    ///     .await?;
    /// let guard = Guard::builder(pool).migrate().build().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait_for_other_nodes(connection: &mut sqlx::MySqlConnection) -> Result<(), sqlx::Error> {
        crate::store::wait_for_other_nodes(connection).await
    }
    /// The first argument of a handler that passes the request on to a guarded service function.
    #[cfg(feature = "axum")]
    pub type Delegated<I = crate::Own> = crate::axum::Delegated<sqlx::MySql, I>;
}
