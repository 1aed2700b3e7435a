//! What the maintenance in the background asks of a database; nothing here is on the path of a request.

use std::future::Future;
use std::time::Duration;

use uuid::Uuid;

use super::{ConnectionOf, Store, StoreResult, Swept};

/// The answers of one route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// The route.
    pub route: String,
    /// Bodies that ran and ended, well or not.
    pub executed: u64,
    /// Recorded answers that were given again.
    pub replayed: u64,
}

/// The lease of the maintenance and its sweep, on every store; sealed as [`Store`] is.
pub trait Maintain: Store {
    /// Takes or keeps the lease of the maintenance for `lease` from now; `false`: another holder has it.
    ///
    /// One atomic statement by the database's time, so that of any number of racers one gets it. A lease of
    /// zero gives it back. No promise of a record hangs on it: two that sweep at once do no harm.
    fn hold(
        conn: &mut ConnectionOf<Self>,
        holder: Uuid,
        lease: Duration,
    ) -> impl Future<Output = StoreResult<bool>> + Send;

    /// As [`Store::expire`], but looks no further back than `since`, so that records which are kept after
    /// their end are not read again and again.
    fn expire_since(
        conn: &mut ConnectionOf<Self>,
        since: Duration,
        batch: u32,
    ) -> impl Future<Output = StoreResult<Swept>> + Send;

    /// Adds to the answers that a route gave today, which is the database's day in UTC.
    ///
    /// One atomic statement that adds, so that no process overwrites what another one counts. When its reply is
    /// lost and it is sent again, the answers may count twice.
    fn add_traffic(
        conn: &mut ConnectionOf<Self>,
        traffic: &Traffic,
    ) -> impl Future<Output = StoreResult<()>> + Send;

    /// Deletes the answers of all but the last `days`, today included.
    fn forget_traffic(
        conn: &mut ConnectionOf<Self>,
        days: u32,
    ) -> impl Future<Output = StoreResult<()>> + Send;
}
