//! What the suites need of a database, so that each test is written once and runs on all of them.

use std::future::Future;
use std::time::Duration;

use idem_runtime::store::{ConnectionOf, Store};
use idem_runtime::{GuardBuilder, IdempotencyKey, IdempotencyMutationGuard, Policy, Scope};
use sqlx::Pool;

#[cfg(feature = "mysql")]
mod on_mysql;
#[cfg(feature = "postgres")]
mod on_postgres;
mod on_sqlite;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod proxied;
pub mod shop;

#[cfg(feature = "mysql")]
pub use on_mysql::OnMysql;
#[cfg(feature = "postgres")]
pub use on_postgres::OnPostgres;
pub use on_sqlite::OnSqlite;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub use proxied::Proxied;

/// A fresh database with the tables of the guard and a business table, `effects(name)`.
pub trait Fixture: Send + Sync + Sized + 'static {
    /// The store under test.
    type S: Store;

    /// Creates the database and its tables.
    fn create() -> impl Future<Output = Self> + Send;

    /// A pool of at most `connections`.
    fn pool(&self, connections: u32) -> impl Future<Output = Pool<Self::S>> + Send;

    /// The URL for another process.
    fn url(&self) -> String;

    /// Writes one business row, as a body does.
    fn effect(
        connection: &mut ConnectionOf<Self::S>,
        name: &str,
    ) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// How many business rows of that name are committed.
    fn effects(pool: &Pool<Self::S>, name: &str) -> impl Future<Output = i64> + Send;

    /// Runs any statement on a connection.
    fn execute(
        connection: &mut ConnectionOf<Self::S>,
        sql: &str,
    ) -> impl Future<Output = sqlx::Result<u64>> + Send;

    /// One number from the database.
    fn number(
        connection: &mut ConnectionOf<Self::S>,
        sql: &str,
    ) -> impl Future<Output = sqlx::Result<i64>> + Send;

    /// Every cell of every table of the guard, as bytes, and whatever else lies on the disk within reach.
    fn cells(pool: &Pool<Self::S>) -> impl Future<Output = Vec<Vec<u8>>> + Send;

    /// Lets `span` pass for all records, by moving their moments into the past.
    fn pass(pool: &Pool<Self::S>, span: Duration) -> impl Future<Output = ()> + Send;

    /// A builder over a pool of at most `connections`.
    fn builder(&self, connections: u32) -> impl Future<Output = GuardBuilder<Self::S>> + Send {
        async move { IdempotencyMutationGuard::builder(self.pool(connections).await) }
    }

    /// A guard over a pool of at most `connections`.
    fn guard(&self, connections: u32) -> impl Future<Output = IdempotencyMutationGuard<Self::S>> + Send {
        async move { self.builder(connections).await.build().await.expect("a fresh database is fit") }
    }
}

/// The scope of most tests.
///
/// # Panics
///
/// Never: the names are valid.
#[must_use]
pub fn scope() -> Scope {
    Scope::new("acme", "user-7").expect("a valid scope")
}

/// A key.
///
/// # Panics
///
/// When `key` is not a valid key.
#[must_use]
pub fn key(key: &str) -> IdempotencyKey {
    IdempotencyKey::new(key).expect("a valid key")
}

/// The policy of most tests: route `orders.create`, everything else by default.
///
/// # Panics
///
/// Never: the name is valid.
#[must_use]
pub fn policy() -> Policy {
    Policy::new("orders.create").expect("a valid route")
}

/// Turns generic tests into one test per database.
///
/// Each name is an `async fn name<F: Fixture>()`; one that is left out of the list is dead code.
#[macro_export]
macro_rules! on_every_database {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    Box::pin(super::$name::<$crate::OnSqlite>()).await;
                }
            )+
        }

        #[cfg(feature = "postgres")]
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    Box::pin(super::$name::<$crate::OnPostgres>()).await;
                }
            )+
        }

        #[cfg(feature = "mysql")]
        mod mysql {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    Box::pin(super::$name::<$crate::OnMysql>()).await;
                }
            )+
        }
    };
}
