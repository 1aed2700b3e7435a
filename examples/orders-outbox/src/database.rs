//! The tables of the orders, and the few statements that each database says in its own words.

use std::future::Future;

use idem_runtime::store::{ConnectionOf, Outbox};
use sqlx::Pool;
use uuid::Uuid;

use crate::orders::Order;

/// In words that SQLite and PostgreSQL share.
///
/// The ledger has no unique key on order and movement: that there is one row is the outbox's work alone. `position`
/// counts the movements of one order, so that it tells in which order they came.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS outbox_orders (
        order_id text PRIMARY KEY, tenant text NOT NULL, item text NOT NULL, quantity bigint NOT NULL
    );
    CREATE TABLE IF NOT EXISTS stock_ledger (
        event_id text NOT NULL, order_id text NOT NULL, tenant text NOT NULL, movement text NOT NULL,
        position bigint NOT NULL
    );
    CREATE INDEX IF NOT EXISTS stock_ledger_order ON stock_ledger (order_id);
";

/// How many connections each process keeps to its database.
pub(crate) const CONNECTIONS: u32 = 6;

/// A database on which the orders run: a store of the guard with an outbox that also knows the tables above.
pub(crate) trait OrdersDatabase: Outbox {
    /// Connects.
    fn open(url: &str) -> impl Future<Output = sqlx::Result<Pool<Self>>> + Send;

    /// Creates [`TABLES`], unless they are there.
    fn create_tables(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Inserts an order.
    fn insert_order(
        connection: &mut ConnectionOf<Self>,
        tenant: &str,
        order: &Order,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Writes one line of the stock ledger.
    fn move_stock(
        connection: &mut ConnectionOf<Self>,
        movement: &Movement,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// The stock ledger of a tenant.
    fn movements(
        pool: &Pool<Self>,
        tenant: &str,
    ) -> impl Future<Output = sqlx::Result<Vec<(Movement, i64)>>> + Send;

    /// The ids of the orders of a tenant.
    fn orders(pool: &Pool<Self>, tenant: &str) -> impl Future<Output = sqlx::Result<Vec<String>>> + Send;
}

/// What an event does to the stock; in the ledger it has its position among those of the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Movement {
    pub(crate) event: Uuid,
    pub(crate) tenant: String,
    pub(crate) order: String,
    /// [`RESERVED`] or [`SHIPPED`].
    pub(crate) name: String,
}

/// The order was created.
pub(crate) const RESERVED: &str = "reserved";
/// The order was paid.
pub(crate) const SHIPPED: &str = "shipped";
