//! The shop's own tables, and the few statements that each database says in its own words.

use std::future::Future;

use idem_runtime::store::ConnectionOf;
use idem_runtime::{DownstreamKey, ReadStore, RecordKey};
use sqlx::Pool;

use crate::orders::Order;

/// The shop's tables, in words that SQLite and PostgreSQL share.
///
/// Orders and tasks have no unique key on tenant and key: that there is one row is the guard's work alone.
/// `charges` and `declines` belong to the payment provider.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS orders (
        order_id text PRIMARY KEY, tenant text NOT NULL, idempotency_key text NOT NULL,
        item text NOT NULL, quantity bigint NOT NULL
    );
    CREATE TABLE IF NOT EXISTS tasks (
        task_id text PRIMARY KEY, tenant text NOT NULL, idempotency_key text NOT NULL,
        order_id text NOT NULL, packed boolean NOT NULL DEFAULT false
    );
    CREATE TABLE IF NOT EXISTS charges (
        downstream_key text PRIMARY KEY, tenant text NOT NULL, idempotency_key text NOT NULL,
        charge_id text NOT NULL, cents bigint NOT NULL
    );
    CREATE TABLE IF NOT EXISTS declines (downstream_key text PRIMARY KEY);
";

/// How many connections each process keeps to its database.
pub(crate) const CONNECTIONS: u32 = 5;

/// A database on which the shop runs: a store of the guard that also knows the shop's tables.
pub(crate) trait ShopDatabase: ReadStore {
    /// Connects.
    fn open(url: &str) -> impl Future<Output = sqlx::Result<Pool<Self>>> + Send;

    /// Creates [`TABLES`], unless they are there.
    fn create_tables(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Inserts an order.
    fn insert_order(
        connection: &mut ConnectionOf<Self>,
        key: &RecordKey,
        order: &Order,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Inserts the task that packs an order.
    fn insert_task(
        connection: &mut ConnectionOf<Self>,
        key: &RecordKey,
        order: &Order,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// The orders of a tenant.
    fn orders(
        connection: &mut ConnectionOf<Self>,
        tenant: &str,
    ) -> impl Future<Output = sqlx::Result<Vec<Order>>> + Send;

    /// Does what is still to be done.
    fn pack_tasks(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Inserts a charge, unless this downstream key has one; the id of the charge that is there then.
    fn insert_charge(
        pool: &Pool<Self>,
        downstream: &DownstreamKey,
        key: &RecordKey,
        charge_id: &str,
        cents: i64,
    ) -> impl Future<Output = sqlx::Result<String>> + Send;

    /// Notes that the provider declined this downstream key; whether it is the first time.
    fn insert_decline(
        pool: &Pool<Self>,
        downstream: &DownstreamKey,
    ) -> impl Future<Output = sqlx::Result<bool>> + Send;

    /// Counts what one key left in the tables.
    fn count_rows(pool: &Pool<Self>, key: &RecordKey) -> impl Future<Output = sqlx::Result<Rows>> + Send;
}

/// What one idempotency key left in the shop's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) orders: i64,
    pub(crate) tasks: i64,
    pub(crate) charges: i64,
}

impl Rows {
    /// What one order leaves.
    pub(crate) const ONE_ORDER: Self = Self { orders: 1, tasks: 1, charges: 0 };
    /// What one payment leaves.
    pub(crate) const ONE_PAYMENT: Self = Self { orders: 0, tasks: 0, charges: 1 };

    /// Whether something happened more than once.
    pub(crate) fn are_double(self) -> bool {
        self.orders > 1 || self.tasks > 1 || self.charges > 1
    }
}
