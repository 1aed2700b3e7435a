//! The transitions of a record, one method each, the same on every database.
//!
//! A store carries out what `decision` says; it never decides. Each method is one atomic statement, fenced
//! by the token of the attempt that it belongs to or by the revision of the row that was judged, and each
//! says which race it closes. All times are the database's.

use std::future::Future;
use std::time::Duration;

use uuid::Uuid;

use crate::key::RecordKey;
use crate::policy::Terms;
use crate::record::{Answer, Bindings, FencingToken, Reading, Record, Status, Timestamp};

mod inspect;
mod maintain;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod migrate;
#[cfg(feature = "mysql")]
mod mysql;
mod outbox;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod row;
mod setting;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(all(any(test, fuzzing), feature = "axum", feature = "sqlite"))]
pub(crate) use row::headers_stored_and_read;

pub use inspect::{Capacity, Due, Filter, Group, Inspect, Release};
pub use maintain::{Maintain, Traffic};
#[cfg(feature = "mysql")]
pub(crate) use mysql::wait_for_other_nodes;
pub use outbox::{
    EventChange, EventFilter, EventGroup, EventMark, EventStatus, EventToken, NewEvent, Outbox, Settled,
    Settlement, StoredEvent,
};
pub use setting::UnsafeSetting;

pub(crate) mod sealed {
    /// Keeps `Store` ours: a database is added with its statements and its contract tests, or not at all.
    pub trait Sealed {}
}

/// What one attempt writes when it claims a record.
#[derive(Debug, Clone)]
pub struct NewClaim {
    /// The record.
    pub key: RecordKey,
    /// The sealed fingerprint of the request.
    pub request_hash: String,
    /// The sealed members of the request, when the guard has a secret.
    pub request_fields: Option<String>,
    /// The terms of the route.
    pub terms: Terms,
    /// Random; the same at each repetition of this claim, so that its own row is recognised.
    pub claim_id: Uuid,
}

impl NewClaim {
    /// The record of a claim that has just been written: what it holds, and the moments of the database.
    pub(crate) fn begun(&self, locked_until: Timestamp, expires_at: Timestamp, now: Timestamp) -> Reading {
        let record = Record {
            key: self.key.clone(),
            request_hash: self.request_hash.clone(),
            request_fields: self.request_fields.clone(),
            status: Status::Processing,
            token: FencingToken { attempt: 1, claim_id: self.claim_id },
            revision: 1,
            answer: None,
            bindings: Bindings::default(),
            locked_until: Some(locked_until),
            expires_at,
            terms: self.terms,
            outcome_unknown: false,
            released_at: None,
            created_at: now,
            updated_at: now,
            completed_at: None,
        };
        Reading { record, now }
    }
}

/// What became of a completion inside the body's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Written; it holds once the transaction commits.
    Done {
        /// The end of the record's life.
        expires_at: Timestamp,
    },
    /// Another attempt owns the record: roll back.
    Lost,
    /// The transaction that the guard began is not the one that is open now.
    Ended,
}

/// What a failed statement means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It had no effect and may be sent again: a deadlock, a serialization failure, a busy database.
    Again,
    /// It had no effect: another transaction holds the row for longer than the statement waits.
    Locked,
    /// It had no effect, and neither will the same statement have later.
    Refused,
    /// The transaction had failed before: nothing of it is kept.
    Aborted,
    /// The reply was lost: whether it had an effect must be read back.
    Unknown,
}

/// How many records a sweep changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swept {
    /// Records changed or deleted by this call.
    pub count: u64,
}

/// A connection of the store's database.
pub type ConnectionOf<S> = <S as sqlx::Database>::Connection;

/// What a statement of the store gives.
pub type StoreResult<T> = Result<T, sqlx::Error>;

/// A database that holds idempotency records; implemented by `sqlx::Sqlite`, `sqlx::Postgres` and
/// `sqlx::MySql`.
///
/// Every method but the two that say otherwise runs on a connection without a transaction.
pub trait Store: sqlx::Database + sealed::Sealed {
    /// Whether only one transaction can write at a time, so that writers of one process take turns.
    const SINGLE_WRITER: bool;

    /// Whether dispatchers in other processes can be told of an event.
    const ANNOUNCES: bool;

    /// Creates or updates the tables; safe to call from several processes at once.
    fn migrate(
        pool: &sqlx::Pool<Self>,
    ) -> impl Future<Output = Result<(), sqlx::migrate::MigrateError>> + Send;

    /// Whether the table with all its columns is there, whoever created it.
    fn has_schema(conn: &mut ConnectionOf<Self>) -> impl Future<Output = StoreResult<bool>> + Send;

    /// The settings of this connection under which an acknowledged answer could be lost.
    fn unsafe_settings(
        conn: &mut ConnectionOf<Self>,
    ) -> impl Future<Output = StoreResult<Vec<UnsafeSetting>>> + Send;

    /// The record and the database's time.
    fn read(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
    ) -> impl Future<Output = StoreResult<Option<Reading>>> + Send;

    /// As `read`, after every open transaction that changed the record has ended.
    ///
    /// Closes the race with a COMMIT whose reply was lost: a plain read may still see the row as it was.
    /// Gives an error when such a transaction is still open after `patience`.
    fn read_settled(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        patience: Duration,
    ) -> impl Future<Output = StoreResult<Option<Reading>>> + Send;

    /// Inserts the record, or reads the one that is there; of any number of racers one inserts.
    ///
    /// The claim is ours when the record that comes back has our `claim_id`, also when an earlier call
    /// inserted it and its reply was lost. `None`: the other row cannot be seen yet, call again.
    fn insert(
        conn: &mut ConnectionOf<Self>,
        claim: &NewClaim,
    ) -> impl Future<Output = StoreResult<Option<Reading>>> + Send;

    /// Takes over the very row that was judged; of any number of racers one succeeds.
    ///
    /// The revision closes the race with a renewal, a release or another claim after `seen` was read.
    /// `anew` begins a new life with the new request's fingerprint. `None`: the row has changed.
    fn take_over(
        conn: &mut ConnectionOf<Self>,
        seen: &Record,
        anew: bool,
        claim: &NewClaim,
    ) -> impl Future<Output = StoreResult<Option<Reading>>> + Send;

    /// Begins the body's transaction and marks it with the attempt's token.
    fn begin(
        conn: &mut ConnectionOf<Self>,
        token: FencingToken,
        terms: &Terms,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Whether the open transaction is the one that `begin` began; runs inside it.
    fn is_intact(
        conn: &mut ConnectionOf<Self>,
        token: FencingToken,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// Marks the record succeeded inside the body's transaction, so that both commit or neither.
    ///
    /// Closes the race with a zombie: it touches no row unless token and status are still ours.
    fn complete_in_transaction(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        token: FencingToken,
        answer: &Answer,
        bindings: &Bindings,
    ) -> impl Future<Output = StoreResult<Completion>> + Send;

    /// Marks the record succeeded; the end of its life, or `None` when the claim was lost.
    fn complete(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        token: FencingToken,
        answer: &Answer,
        bindings: &Bindings,
    ) -> impl Future<Output = StoreResult<Option<Timestamp>>> + Send;

    /// Marks the record failed; the end of its life, or `None` when the claim was lost.
    fn fail(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        token: FencingToken,
        answer: Option<&Answer>,
    ) -> impl Future<Output = StoreResult<Option<Timestamp>>> + Send;

    /// Makes a processing or failed record claimable at once by the same request; never a succeeded one.
    ///
    /// With `revision` only if the row has not changed since it was read.
    fn release(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        token: FencingToken,
        revision: Option<i64>,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// Moves the end of the lease, and of the life if need be; the new end, or `None` when it was lost.
    fn renew(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        token: FencingToken,
        lease: Duration,
    ) -> impl Future<Output = StoreResult<Option<Timestamp>>> + Send;

    /// Ends the lease now, so that `on_lapse` decides what the next request may do.
    fn end_lease(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        token: FencingToken,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// Ends the lease and marks the outcome as unknown, so that nothing runs until an operator decides.
    fn mark_unknown(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        token: FencingToken,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// Binds task and event to a record in process; what is `None` stays as it is.
    fn bind(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        token: FencingToken,
        bindings: &Bindings,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// The steps that earlier attempts of this life have finished; the outer `None`: the claim was lost.
    fn steps(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        token: FencingToken,
    ) -> impl Future<Output = StoreResult<Option<Option<String>>>> + Send;

    /// Keeps the finished steps of an attempt that is at work; also inside a transaction of one of its steps.
    fn keep_steps(
        conn: &mut ConnectionOf<Self>,
        key: &RecordKey,
        token: FencingToken,
        steps: &str,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// Marks at most `batch` records past their life as expired.
    ///
    /// State and time stand in the statement itself, so a record that is claimed meanwhile is left alone,
    /// and so are leases, unknown outcomes and external attempts that may not simply run again.
    fn expire(conn: &mut ConnectionOf<Self>, batch: u32) -> impl Future<Output = StoreResult<Swept>> + Send;

    /// Deletes at most `batch` records whose life ended at least `older_than` ago; spares what `expire` spares.
    fn purge(
        conn: &mut ConnectionOf<Self>,
        older_than: Duration,
        batch: u32,
    ) -> impl Future<Output = StoreResult<Swept>> + Send;

    /// Tells dispatchers in other processes that there is something to take, where the database can.
    fn announce(conn: &mut ConnectionOf<Self>) -> impl Future<Output = StoreResult<()>> + Send;

    /// What a failed statement of ours means.
    fn classify(error: &sqlx::Error) -> Fault;
}

/// Whole milliseconds for a bound value.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A number as databases hold it.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number of rows or answers as databases give it.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
fn counted(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Whether a statement of a body failed for a reason that passes: a deadlock, a serialization failure, a busy
/// or unreachable database. Nothing of the body is kept then, and a retry may succeed.
///
/// A guard cannot see into the errors of an application; say it in `release_on`:
///
/// ```
/// use idem_runtime::store::is_transient;
///
/// #[derive(Debug)]
/// enum AppError { Sql(sqlx::Error), Declined }
///
/// let release = |error: &AppError| matches!(error, AppError::Sql(error) if is_transient::<sqlx::Sqlite>(error));
/// assert!(release(&AppError::Sql(sqlx::Error::PoolTimedOut)));
/// assert!(!release(&AppError::Declined));
/// ```
#[must_use]
pub fn is_transient<S: Store>(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::PoolTimedOut)
        || matches!(S::classify(error), Fault::Again | Fault::Locked | Fault::Unknown)
}
