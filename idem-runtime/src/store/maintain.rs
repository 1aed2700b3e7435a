//! What the maintenance in the background asks of a database; nothing here is on the path of a request.

use std::future::Future;
use std::time::Duration;

use uuid::Uuid;

use super::{ConnectionOf, Store, StoreResult, Swept};

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
}
