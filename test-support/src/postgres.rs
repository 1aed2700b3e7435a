//! A PostgreSQL database with a random name on the server that `cargo xtask test` starts.

use std::net::SocketAddr;
use std::str::FromStr;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgPool};
use uuid::Uuid;

const URL_VARIABLE: &str = "IDEM_TEST_POSTGRES_URL";

/// The URL of a superuser on the test server.
///
/// # Panics
/// When the server is not named: a test that needs PostgreSQL fails without it and is never skipped.
#[must_use]
pub fn admin_url() -> String {
    std::env::var(URL_VARIABLE).unwrap_or_else(|_| {
        panic!(
            "{URL_VARIABLE} is not set, and this test needs PostgreSQL: `cargo xtask test` starts a server for \
             all tests, and `cargo xtask postgres` keeps one running and prints the line to export"
        )
    })
}

/// A fresh database of one test.
#[derive(Debug, Clone)]
pub struct PostgresDatabase {
    name: String,
    admin: PgConnectOptions,
}

impl PostgresDatabase {
    /// Creates the database from `template0`, which no other test can have changed.
    ///
    /// # Panics
    /// When there is no server, or it refuses.
    pub async fn create() -> Self {
        Self::create_on(
            PgConnectOptions::from_str(&admin_url()).expect("the URL of the test server is valid"),
        )
        .await
    }

    /// The same on another server, for whose superuser these options are.
    ///
    /// # Panics
    /// When there is no server, or it refuses.
    pub async fn create_on(admin: PgConnectOptions) -> Self {
        let name = random_name();
        run(&admin, &format!("CREATE DATABASE {name} TEMPLATE template0")).await;
        Self { name, admin }
    }

    /// The name of the database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How a superuser connects to it.
    #[must_use]
    pub fn options(&self) -> PgConnectOptions {
        self.admin.clone().database(&self.name)
    }

    /// The same, through another address, such as that of a [`Proxy`](crate::proxy::Proxy).
    ///
    /// TLS is off, as a proxy cannot look into it.
    #[must_use]
    pub fn options_through(&self, address: SocketAddr) -> PgConnectOptions {
        self.options().host(&address.ip().to_string()).port(address.port()).ssl_mode(PgSslMode::Disable)
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
        tokio::net::lookup_host((self.admin.get_host(), self.admin.get_port()))
            .await
            .expect("the host of the test server resolves")
            .next()
            .expect("the host of the test server has an address")
    }

    /// A pool of a superuser on this database.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn pool(&self, max_connections: u32) -> PgPool {
        PgPoolOptions::new()
            .max_connections(max_connections)
            .connect_with(self.options())
            .await
            .expect("the test server accepts connections")
    }

    /// Creates a role with these settings and returns a URL that logs in as it.
    ///
    /// The role owns nothing. It may use and make tables in `public`, also those that the superuser makes later.
    ///
    /// # Panics
    /// When the server refuses, for one because it does not know a setting.
    pub async fn role_with(&self, settings: &[(&str, &str)]) -> String {
        let role = random_name();
        // The password matters only where the server was not started with trust.
        let script = format!(
            "CREATE ROLE {role} LOGIN PASSWORD '{role}';
             GRANT ALL ON SCHEMA public TO {role};
             GRANT ALL ON ALL TABLES IN SCHEMA public TO {role};
             GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role};
             ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO {role};
             ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON SEQUENCES TO {role};"
        );
        run(&self.options(), &script).await;
        for (setting, value) in settings {
            let value = value.replace('\'', "''");
            run(&self.options(), &format!("ALTER ROLE {role} SET {setting} = '{value}'")).await;
        }
        self.options().username(&role).password(&role).to_url_lossy().to_string()
    }

    /// Drops the database and cuts whoever is still connected.
    ///
    /// A failure is ignored: the server is thrown away with all that is left on it.
    pub async fn drop_database(self) {
        if let Ok(mut connection) = PgConnection::connect_with(&self.admin).await {
            let statement = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
            let _ = sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await;
        }
    }
}

/// Runs a script whose names are our own.
async fn run(options: &PgConnectOptions, script: &str) {
    let mut connection =
        PgConnection::connect_with(options).await.expect("the test server accepts connections");
    sqlx::raw_sql(AssertSqlSafe(script.to_owned()))
        .execute(&mut connection)
        .await
        .unwrap_or_else(|error| panic!("the test server refuses `{script}`: {error}"));
    connection.close().await.expect("the test server says goodbye");
}

/// Letters and digits only, so that it needs no quotes.
fn random_name() -> String {
    format!("idem_{}", Uuid::new_v4().simple())
}
