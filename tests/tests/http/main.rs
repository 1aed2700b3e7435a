//! Guarded routes over real connections, and everything that can happen to a request on its way.
//!
//! No test waits for a time: it waits until a request has reached a place, or a record a state.

mod client;
mod diagnosis;
mod disconnect;
mod failures;
mod honest;
mod identities;
mod inside;
mod killed;
mod killed_early;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod lost_commit;
mod options;
mod places;
mod problems;
mod refused;
mod replay;
mod scope;
mod shutdown;
mod site;
mod swarm;
mod timeouts;

use std::time::Duration;

use idem_runtime::IdempotencyMutationGuard;
use idem_tests::Fixture;

pub(crate) type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

/// The user of the requests that name none.
pub(crate) const USER: &str = "user-7";
/// The writes of the shop, by path and by name in the records.
pub(crate) const ORDERS: (&str, &str) = ("/orders", "orders.create");
pub(crate) const CHARGES: (&str, &str) = ("/charges", "payments.charge");
pub(crate) const TRANSFERS: (&str, &str) = ("/transfers", "payments.transfer");
/// A request of any of them.
pub(crate) const BOOK: &str = r#"{"name":"book"}"#;
/// Longer than anything takes here: what is bounded by it fails instead of hanging.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// Polls until `done`, with a bound that only a hang reaches.
pub(crate) async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    for _ in 0..6000 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never happened: {what}");
}

/// Bounds what would hang if it were broken.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(LONG, future).await;
    ended.unwrap_or_else(|_| panic!("never happened: {what}"))
}
