//! A database that is reached through a proxy, where what is lost on the way can be said.

use std::time::Duration;

use idem_test_support::proxy::Proxy;
use sqlx::Pool;
use sqlx::pool::PoolOptions;

use crate::Fixture;

/// A fixture on a server; the words are those of its statements at which a fault strikes.
pub trait Proxied: Fixture {
    /// The statement that marks a body's transaction.
    const MARK: &'static str;
    /// The start of the statement that records a failure.
    const FAIL: &'static str;
    /// Counts the statements of this database that wait for the lock of a record that they read.
    const LOCKED_READS: &'static str;

    /// A proxy in front of the server.
    fn proxy(&self) -> impl Future<Output = Proxy> + Send;

    /// How a connection reaches the database through `proxy`.
    fn through(
        &self,
        proxy: &Proxy,
    ) -> <<Self::S as sqlx::Database>::Connection as sqlx::Connection>::Options;

    /// A pool of at most `connections` through `proxy`, whose callers wait for a connection no longer than `patience`.
    fn pool_through(
        &self,
        proxy: &Proxy,
        connections: u32,
        patience: Duration,
    ) -> impl Future<Output = Pool<Self::S>> + Send {
        let options = PoolOptions::new().max_connections(connections).acquire_timeout(patience);
        let pool = options.connect_with(self.through(proxy));
        async { pool.await.expect("the proxy passes connections on") }
    }

    /// Takes the database away.
    fn drop_database(self) -> impl Future<Output = ()> + Send;
}

#[cfg(feature = "postgres")]
impl Proxied for crate::OnPostgres {
    const MARK: &'static str = "SET LOCAL idem.claim";
    const FAIL: &'static str = "UPDATE idempotency_records SET status = 'failed', response_code = $7";
    const LOCKED_READS: &'static str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
         AND datname = current_database() AND query LIKE '%FOR UPDATE%'";

    async fn proxy(&self) -> Proxy {
        Proxy::start(self.0.address().await)
    }

    fn through(&self, proxy: &Proxy) -> sqlx::postgres::PgConnectOptions {
        self.0.options_through(proxy.addr())
    }

    async fn drop_database(self) {
        self.0.drop_database().await;
    }
}

#[cfg(feature = "mysql")]
impl Proxied for crate::OnMysql {
    const MARK: &'static str = "SAVEPOINT idem_claim";
    const FAIL: &'static str = "UPDATE idempotency_records SET status = 'failed', response_code = ?";
    // The views of InnoDB itself are not renewed while somebody keeps asking; this one is.
    const LOCKED_READS: &'static str = "SELECT count(*) FROM information_schema.processlist \
         WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%FOR UPDATE%'";

    async fn proxy(&self) -> Proxy {
        Proxy::start_mysql(self.0.address().await)
    }

    fn through(&self, proxy: &Proxy) -> sqlx::mysql::MySqlConnectOptions {
        self.0.options_through(proxy.addr())
    }

    async fn drop_database(self) {
        self.0.drop_database().await;
    }
}

/// Turns generic tests into one test per server.
///
/// Each name is an `async fn name<F: Proxied>()`.
#[macro_export]
macro_rules! on_every_server {
    ($($name:ident),+ $(,)?) => {
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
