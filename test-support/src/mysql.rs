//! A MySQL or MariaDB database with a random name on the server that `cargo xtask test` starts.

use std::net::SocketAddr;
use std::str::FromStr;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlPoolOptions, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, MySqlPool};
use uuid::Uuid;

const URL_VARIABLE: &str = "IDEM_TEST_MYSQL_URL";

/// The URL of a superuser on the test server.
///
/// # Panics
/// When the server is not named: a test that needs MySQL fails without it and is never skipped.
#[must_use]
pub fn admin_url() -> String {
    std::env::var(URL_VARIABLE).unwrap_or_else(|_| {
        panic!(
            "{URL_VARIABLE} is not set, and this test needs MySQL or MariaDB: `cargo xtask test` starts a server \
             for all tests, and `cargo xtask mariadb` keeps one running and prints the line to export"
        )
    })
}

/// A fresh database of one test.
#[derive(Debug, Clone)]
pub struct MysqlDatabase {
    name: String,
    admin: MySqlConnectOptions,
    address: (String, u16),
}

impl MysqlDatabase {
    /// Creates the database.
    ///
    /// # Panics
    /// When there is no server, or it refuses.
    pub async fn create() -> Self {
        let url = admin_url();
        let admin = MySqlConnectOptions::from_str(&url).expect("the URL of the test server is valid");
        let url = admin.to_url_lossy();
        let host = url.host_str().unwrap_or("127.0.0.1").to_owned();
        let address = (host, url.port().unwrap_or(3306));
        let name = format!("idem_{}", Uuid::new_v4().simple());
        let mut connection =
            MySqlConnection::connect_with(&admin).await.expect("the test server accepts connections");
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name} CHARACTER SET utf8mb4")))
            .execute(&mut connection)
            .await
            .expect("the test server makes a database");
        connection.close().await.expect("the test server says goodbye");
        Self { name, admin, address }
    }

    /// The name of the database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How a superuser connects to it.
    #[must_use]
    pub fn options(&self) -> MySqlConnectOptions {
        self.admin.clone().database(&self.name)
    }

    /// The same, through another address, such as that of a [`Proxy`](crate::proxy::Proxy); without TLS.
    #[must_use]
    pub fn options_through(&self, address: SocketAddr) -> MySqlConnectOptions {
        self.options().host(&address.ip().to_string()).port(address.port()).ssl_mode(MySqlSslMode::Disabled)
    }

    /// The same as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.options().to_url_lossy().to_string()
    }

    /// Where the server listens, for a proxy in front of it.
    ///
    /// # Panics
    /// When the host of the test server has no address.
    pub async fn address(&self) -> SocketAddr {
        tokio::net::lookup_host((self.address.0.as_str(), self.address.1))
            .await
            .expect("the host of the test server resolves")
            .next()
            .expect("the host of the test server has an address")
    }

    /// A pool of a superuser on this database.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn pool(&self, max_connections: u32) -> MySqlPool {
        self.pool_with(max_connections, &[]).await
    }

    /// The same, whose sessions begin with these settings, such as `("transaction_isolation", "...")`.
    ///
    /// # Panics
    /// When the server refuses, for one because it does not know a setting.
    pub async fn pool_with(&self, max_connections: u32, settings: &[(&str, &str)]) -> MySqlPool {
        let assignments = settings.iter().map(|(name, value)| format!("SESSION {name} = '{value}'"));
        let assignments = assignments.collect::<Vec<_>>().join(", ");
        MySqlPoolOptions::new()
            .max_connections(max_connections)
            .after_connect(move |connection, _| {
                let assignments = assignments.clone();
                Box::pin(async move {
                    if !assignments.is_empty() {
                        sqlx::raw_sql(AssertSqlSafe(format!("SET {assignments}")))
                            .execute(connection)
                            .await?;
                    }
                    Ok(())
                })
            })
            .connect_with(self.options())
            .await
            .expect("the test server accepts connections")
    }

    /// Drops the database; a failure is ignored, as the server is thrown away with all that is left on it.
    pub async fn drop_database(self) {
        if let Ok(mut connection) = MySqlConnection::connect_with(&self.admin).await {
            let statement = format!("DROP DATABASE IF EXISTS {}", self.name);
            let _ = sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await;
        }
    }
}
