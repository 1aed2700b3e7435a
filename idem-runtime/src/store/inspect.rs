//! What an operator asks of a database; nothing here is on the path of a request.
//!
//! Every statement but the release only reads, takes no lock, and shows what is committed as it begins.

use std::future::Future;
use std::time::Duration;

use super::{ConnectionOf, Outbox, StoreResult, Traffic};
use crate::key::RecordKey;
use crate::record::{Reading, Record, Status, Timestamp};

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
pub(super) mod select;

/// Which records a list shows; what is `None` is not asked.
///
/// ```
/// use idem_runtime::store::Filter;
///
/// let filter = Filter { tenant: Some("acme".to_owned()), stuck: true, ..Filter::default() };
/// ```
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// This tenant alone.
    pub tenant: Option<String>,
    /// This user alone.
    pub user: Option<String>,
    /// This route alone.
    pub route: Option<String>,
    /// This status alone.
    pub status: Option<Status>,
    /// Only attempts that stopped without an outcome.
    pub stuck: bool,
    /// Only records whose life began at least so long ago.
    pub older_than: Option<Duration>,
}

/// The records of one route with one status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The route.
    pub route: String,
    /// The word of the status.
    pub status: String,
    /// How many there are.
    pub records: i64,
    /// How many of them stopped without an outcome: the lease is over, or the outcome is marked unknown.
    pub stuck: i64,
    /// When the oldest life began.
    pub oldest: Timestamp,
    /// When the last one changed.
    pub newest: Timestamp,
    /// The end of the lease that ends first, where one is held or was.
    pub first_lease_end: Option<Timestamp>,
    /// The database's time.
    pub now: Timestamp,
}

/// What the sweeps would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// By [`Store::expire`](super::Store::expire).
    Expire,
    /// By [`Store::purge`](super::Store::purge) with this age.
    Purge(Duration),
}

/// How many connections the server allows, and how many are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// The most that the server allows.
    pub limit: i64,
    /// Those that are open, ours included.
    pub open: i64,
}

/// Who releases a claim by hand, and why.
#[derive(Debug, Clone)]
pub struct Release {
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Whether a live lease was no hindrance.
    pub forced: bool,
}

/// The questions of an operator, answered by every store; sealed as [`Store`](super::Store) is.
pub trait Inspect: Outbox {
    /// The embedded migrations in order: version, name and text.
    fn migrations() -> &'static [(i64, &'static str, &'static str)];

    /// The versions that were applied by [`Store::migrate`](super::Store::migrate); `None` when it never ran.
    fn applied(conn: &mut ConnectionOf<Self>) -> impl Future<Output = StoreResult<Option<Vec<i64>>>> + Send;

    /// The names of our tables and indexes that are not there, or that the database does not use.
    fn missing(conn: &mut ConnectionOf<Self>) -> impl Future<Output = StoreResult<Vec<String>>> + Send;

    /// The database's time.
    fn now(conn: &mut ConnectionOf<Self>) -> impl Future<Output = StoreResult<Timestamp>> + Send;

    /// The connections of the server; `None` where there is no server.
    fn capacity(conn: &mut ConnectionOf<Self>) -> impl Future<Output = StoreResult<Option<Capacity>>> + Send;

    /// At most `limit` records in the order of their keys, from the first one behind `after`.
    ///
    /// Bodies are not read: that of each answer is [`AnswerBody::Omitted`](crate::AnswerBody::Omitted). A
    /// record that is inserted while somebody pages is shown if its key is behind the page.
    fn list(
        conn: &mut ConnectionOf<Self>,
        filter: &Filter,
        after: Option<&RecordKey>,
        limit: u32,
    ) -> impl Future<Output = StoreResult<Vec<Reading>>> + Send;

    /// All records by route and status; reads the whole table.
    fn stats(conn: &mut ConnectionOf<Self>) -> impl Future<Output = StoreResult<Vec<Group>>> + Send;

    /// The answers of each route in the last `days`, today included, as far as they were written down.
    ///
    /// [`Maintain::add_traffic`](super::Maintain::add_traffic) writes them; what a process has counted since then is
    /// not among them.
    fn traffic(
        conn: &mut ConnectionOf<Self>,
        days: u32,
    ) -> impl Future<Output = StoreResult<Vec<Traffic>>> + Send;

    /// How many records a sweep would change now; others may become due before it runs.
    fn due(conn: &mut ConnectionOf<Self>, due: Due) -> impl Future<Output = StoreResult<u64>> + Send;

    /// Releases the very row that was judged and notes who did it, both or neither; `false`: it has changed.
    ///
    /// Token and revision close the race with an attempt that renews, ends or claims meanwhile.
    fn release_noted(
        conn: &mut ConnectionOf<Self>,
        seen: &Record,
        note: &Release,
    ) -> impl Future<Output = StoreResult<bool>> + Send;
}
