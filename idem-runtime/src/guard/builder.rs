//! Builds a guard and refuses a database that cannot keep its promises.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::encryption::Sealing;
use crate::fingerprint::Keyring;
use crate::guard::kept::Redact;
use crate::guard::{IdempotencyMutationGuard, Inner};
use crate::key::Route;
use crate::mutation::EventHeaders;
use crate::policy::{Defaults, Mode, Policy, PolicyError};
use crate::record::Answer;
use crate::registry::{DuplicateRoute, unique_routes};
use crate::store::{Store, UnsafeSetting};

/// Settings of a guard; see [`IdempotencyMutationGuard::builder`].
#[derive(Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct GuardBuilder<S: Store> {
    pool: sqlx::Pool<S>,
    pub(super) defaults: Defaults,
    pub(super) keyring: Keyring,
    pub(super) sealing: Sealing,
    pub(super) redact: Option<Redact>,
    pub(super) max_answer: usize,
    pub(super) patience: Duration,
    pub(super) max_detached: usize,
    pub(super) max_waiters: usize,
    pub(super) max_waiters_per_key: usize,
    pub(super) allowance: Option<(u32, Duration)>,
    pub(super) event_headers: Option<EventHeaders>,
    migrate: bool,
    allow_unsafe_settings: bool,
    accepted: Vec<String>,
}

impl<S: Store> GuardBuilder<S> {
    pub(super) fn new(pool: sqlx::Pool<S>) -> Self {
        Self {
            pool,
            defaults: Defaults::default(),
            keyring: Keyring::plain(),
            sealing: Sealing::default(),
            redact: None,
            max_answer: 1024 * 1024,
            patience: Duration::from_secs(10),
            max_detached: 1024,
            max_waiters: 4096,
            max_waiters_per_key: 256,
            allowance: None,
            event_headers: None,
            migrate: false,
            allow_unsafe_settings: false,
            accepted: Vec::new(),
        }
    }

    /// What routes get that say nothing themselves; 24 hours, 30 seconds and 15 minutes unless set.
    pub fn defaults(mut self, defaults: Defaults) -> Self {
        self.defaults = defaults;
        self
    }

    /// The secrets under which fingerprints are stored; without them they are plain hashes.
    pub fn keyring(mut self, keyring: Keyring) -> Self {
        self.keyring = keyring;
        self
    }

    /// Seals what is stored of answers, steps and events, so that the database alone does not give it away.
    ///
    /// Answers that were stored plain before are still replayed. One that is sealed with a key that this guard does
    /// not have is [`Error::Sealed`](crate::Error::Sealed), and its body does not run again.
    ///
    /// ```
    /// use idem_runtime::encryption::AnswerKeys;
    /// # use idem_runtime::sqlite::Guard;
    ///
    /// # fn build(pool: sqlx::SqlitePool, new: [u8; 32], old: [u8; 32]) -> Result<(), Box<dyn std::error::Error>> {
    /// Guard::builder(pool).encryption(AnswerKeys::new("2026-02", &new)?.also("2026-01", &old)?);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "encryption")]
    pub fn encryption(mut self, keys: crate::encryption::AnswerKeys) -> Self {
        self.sealing = Sealing::with(keys);
        self
    }

    /// Changes what is stored of each answer, a success or a failure, and so what every replay gives.
    ///
    /// The first caller still gets the answer as the body gave it. The status stays as it was. What is left of the
    /// JSON of a service function must still be one that its type can be read from. When `redact` panics, nothing
    /// is stored: the caller gets [`Error::AnswerNotRecordable`](crate::Error::AnswerNotRecordable) as for any other
    /// answer that cannot be kept.
    ///
    /// ```
    /// # use idem_runtime::sqlite::Guard;
    /// use idem_runtime::{Answer, AnswerBody, Route};
    ///
    /// # fn build(pool: sqlx::SqlitePool) {
    /// Guard::builder(pool).redact(|route: &Route, answer: &mut Answer| {
    ///     answer.headers.retain(|(name, _)| name != "link");
    ///     if route.as_str() == "tokens.issue" {
    ///         answer.body = AnswerBody::Kept(br#"{"token":"shown once"}"#.to_vec());
    ///     }
    /// });
    /// # }
    /// ```
    pub fn redact(mut self, redact: impl Fn(&Route, &mut Answer) + Send + Sync + 'static) -> Self {
        self.redact = Some(Redact(Arc::new(redact)));
        self
    }

    /// The largest answer body that is stored, in bytes; 1 MiB unless set. Where answers are sealed, what counts is
    /// the sealed answer with its headers.
    pub fn max_answer_bytes(mut self, bytes: usize) -> Self {
        self.max_answer = bytes;
        self
    }

    /// How long one statement of the guard may take, and how long it waits for a connection; 10 s unless set.
    ///
    /// After that its connection is closed, and what it did is read back or left to the lease.
    pub fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.patience = timeout;
        self
    }

    /// How many guarded handlers may be at work at once, with or without their client; 1024 unless set.
    ///
    /// As many more wait for a place, in order and no longer than for a connection. Beyond that a request is
    /// refused with [`Error::Overloaded`](crate::Error::Overloaded), and its body does not run. A duplicate that
    /// waits for its twin holds no place, and one that is refused or replayed needs none when none is free.
    #[cfg(feature = "axum")]
    pub fn max_detached(mut self, handlers: usize) -> Self {
        self.max_detached = handlers.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// How many duplicates of this process may wait for their twins, in all and on one key; 4096 and 256 unless set.
    ///
    /// One more gets [`Error::InProgress`](crate::Error::InProgress) at once, as where the policy says no `wait`.
    pub fn max_waiters(mut self, in_all: usize, on_one_key: usize) -> Self {
        (self.max_waiters, self.max_waiters_per_key) = (in_all, on_one_key);
        self
    }

    /// How many new records one user may begin in this process within `span`: all at once, or evenly. No limit
    /// unless set.
    ///
    /// One more is refused with [`Error::TooManyRequests`](crate::Error::TooManyRequests), 429 with `Retry-After`, and
    /// its body does not run. What has a record already is not refused: a retry gets its answer. Outbox handlers and
    /// operations inside others do not count. With `records` as the limit, `n` processes and a `ttl`, a user has at
    /// most `n * records * (1 + ttl / span)` records.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use idem_runtime::sqlite::Guard;
    /// # fn build(pool: sqlx::SqlitePool) {
    /// Guard::builder(pool).max_new_records_per_user(600, Duration::from_secs(60));
    /// # }
    /// ```
    pub fn max_new_records_per_user(mut self, records: u32, span: Duration) -> Self {
        self.allowance = Some((records, span));
        self
    }

    /// Adds headers to every event as it is published, such as the context of the present trace.
    ///
    /// ```
    /// # use idem_runtime::sqlite::Guard;
    /// # fn traceparent() -> String { String::new() }
    /// # fn build(pool: sqlx::SqlitePool) {
    /// Guard::builder(pool).event_headers(|headers| {
    ///     headers.insert("traceparent".to_owned(), traceparent());
    /// });
    /// # }
    /// ```
    pub fn event_headers(
        mut self,
        add: impl Fn(&mut BTreeMap<String, String>) + Send + Sync + 'static,
    ) -> Self {
        self.event_headers = Some(EventHeaders(Arc::new(add)));
        self
    }

    /// Applies the embedded migrations in `build`; several processes may do so at once.
    pub fn migrate(mut self) -> Self {
        self.migrate = true;
        self
    }

    /// Builds also on a database that can lose an acknowledged answer in a crash, for tests and trials.
    pub fn allow_unsafe_settings(mut self) -> Self {
        self.allow_unsafe_settings = true;
        self
    }

    /// Builds although this one setting is as it is: the operator knows what no program can see.
    ///
    /// That is `innodb_flush_log_at_trx_commit` at 2 on Galera nodes that cannot all lose power at once, and the
    /// settings of semi-synchronous replication where nobody fails over to the replica. Whatever else is unsafe
    /// is still refused, also a worse value of the same setting.
    ///
    /// ```
    /// # use idem_runtime::sqlite::Guard;
    /// # fn build(pool: sqlx::SqlitePool) {
    /// Guard::builder(pool).accept_setting("innodb_flush_log_at_trx_commit");
    /// # }
    /// ```
    pub fn accept_setting(mut self, name: impl Into<String>) -> Self {
        self.accepted.push(name.into());
        self
    }

    /// Checks schema and settings and gives the guard.
    pub async fn build(self) -> Result<IdempotencyMutationGuard<S>, BuildError> {
        // A policy that says nothing gets exactly the defaults, so this checks them.
        Policy::new("defaults")?.terms(Mode::External, &self.defaults)?;
        unique_routes()?;
        let mut connection = self.pool.acquire().await?;
        // Also before a migration, which a standby refuses in words that name no setting.
        self.judge(S::unsafe_settings(&mut connection).await?)?;
        if self.migrate {
            drop(connection);
            S::migrate(&self.pool).await?;
            connection = self.pool.acquire().await?;
        }
        if !S::has_schema(&mut connection).await? {
            return Err(BuildError::Schema);
        }
        let mut unsafe_settings = S::unsafe_settings(&mut connection).await?;
        // Another library may have changed the settings of a connection that it gave back to the pool.
        let mut idle = Vec::new();
        while let Some(mut connection) = self.pool.try_acquire() {
            unsafe_settings.extend(S::unsafe_settings(&mut connection).await?);
            idle.push(connection);
        }
        drop(idle);
        unsafe_settings.dedup();
        for setting in self.judge(unsafe_settings)? {
            tracing::warn!(%setting, "an acknowledged answer could be lost in a crash");
        }
        if !S::SINGLE_WRITER && self.pool.options().get_max_connections() < 2 {
            tracing::warn!(
                "a pool of one connection cannot renew a lease while a transaction is open: \
                 bodies longer than their lease may be rolled back and run again"
            );
        }
        drop(connection);
        crate::telemetry::describe();
        Ok(IdempotencyMutationGuard(Arc::new(Inner::new(self.pool.clone(), &self))))
    }

    /// The settings that are accepted, unless there is another one.
    fn judge(&self, settings: Vec<UnsafeSetting>) -> Result<Vec<UnsafeSetting>, BuildError> {
        let accepted = |setting: &UnsafeSetting| {
            setting.acceptable && self.accepted.iter().any(|name| name == setting.name)
        };
        if self.allow_unsafe_settings || settings.iter().all(accepted) {
            return Ok(settings);
        }
        Err(BuildError::UnsafeSettings(settings.into_iter().filter(|setting| !accepted(setting)).collect()))
    }
}

/// A guard that cannot be built; each message says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The database did not answer.
    #[error("the database did not answer at start-up")]
    Database(#[from] sqlx::Error),
    /// The migration failed.
    #[error("the migration of the idempotency records failed")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// The table is missing or older than this version.
    #[error(
        "the table idempotency_records is missing or outdated: call `.migrate()` on the builder or apply the migrations of this version"
    )]
    Schema,
    /// Settings under which an acknowledged answer could be lost.
    #[error("the database could lose an acknowledged answer: {}", join(.0))]
    UnsafeSettings(Vec<UnsafeSetting>),
    /// The guard's defaults contradict themselves.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Two functions of the program declare the same route.
    #[error(transparent)]
    DuplicateRoute(#[from] DuplicateRoute),
}

fn join(settings: &[UnsafeSetting]) -> String {
    settings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
