//! The table of the effects, with the few words in which the databases differ.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use idem_runtime::store::{ConnectionOf, Outbox};
use sqlx::Pool;
use sqlx::pool::PoolOptions;

use super::points::Points;
use crate::routes::Effect;

/// How many pages the database may have, on SQLite; 0 is no limit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limits(pub(crate) Arc<AtomicI64>);

/// What a connection is fitted with.
pub(crate) type Hooks = Option<(Points, Limits)>;

/// A database of the guard that also holds the effects. No index keeps a second effect out: it is to be seen.
pub trait Rows: Outbox {
    /// Connects to at most `connections`.
    #[expect(private_interfaces, reason = "only this program opens pools")]
    fn open(
        url: &str,
        connections: u32,
        hooks: Hooks,
    ) -> impl Future<Output = sqlx::Result<Pool<Self>>> + Send;

    /// Makes the table.
    fn create(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Writes an effect.
    fn write(
        connection: &mut ConnectionOf<Self>,
        effect: &Effect,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// All effects, as JSON.
    fn effects(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<Vec<String>>> + Send;

    /// The payloads of the events that were not delivered.
    fn undelivered(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<Vec<String>>> + Send;

    /// How many pages the database has, on SQLite.
    #[must_use]
    fn pages(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<i64>> + Send {
        let _ = pool;
        async { Ok(0) }
    }
}

pub(super) const READ: &str = "SELECT effect FROM effects";
pub(super) const UNDELIVERED: &str =
    "SELECT CONCAT(status, ' ', payload) FROM idempotency_outbox_events WHERE status <> 'delivered'";

/// A pool whose callers do not wait for long.
pub(super) fn options<D: sqlx::Database>(connections: u32) -> PoolOptions<D> {
    PoolOptions::new().max_connections(connections).acquire_timeout(Duration::from_secs(1))
}

/// The statements are the same, but sqlx checks the types of each database apart.
macro_rules! shared_statements {
    ($insert:literal) => {
        async fn write(
            connection: &mut idem_runtime::store::ConnectionOf<Self>,
            effect: &crate::routes::Effect,
        ) -> sqlx::Result<()> {
            let text = serde_json::json!(effect).to_string();
            sqlx::query($insert).bind(text).execute(connection).await.map(drop)
        }

        async fn effects(pool: &sqlx::Pool<Self>) -> sqlx::Result<Vec<String>> {
            sqlx::query_scalar(crate::service::rows::READ).fetch_all(pool).await
        }

        async fn undelivered(pool: &sqlx::Pool<Self>) -> sqlx::Result<Vec<String>> {
            sqlx::query_scalar(crate::service::rows::UNDELIVERED).fetch_all(pool).await
        }
    };
}
pub(super) use shared_statements;

#[expect(private_interfaces, reason = "only this program opens pools")]
impl Rows for sqlx::Postgres {
    async fn open(url: &str, connections: u32, _: Hooks) -> sqlx::Result<Pool<Self>> {
        options(connections).connect(url).await
    }

    async fn create(pool: &Pool<Self>) -> sqlx::Result<()> {
        sqlx::query("CREATE TABLE effects (effect text NOT NULL)").execute(pool).await.map(drop)
    }

    shared_statements!("INSERT INTO effects (effect) VALUES ($1)");
}
