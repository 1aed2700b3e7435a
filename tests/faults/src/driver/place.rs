//! The database of one round: fresh, and gone with it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection};
use tempfile::TempDir;
use uuid::Uuid;

use super::{Options, Result};
use crate::plan::Database;
use crate::routes::Effect;
use crate::service::{self, Rows};

/// How long events may take to be delivered after everything has calmed down.
const DELIVERED_WITHIN: Duration = Duration::from_secs(30);

pub(super) struct Place {
    pub(super) database: Database,
    /// Without a database and without its server: `postgres://user@`.
    login: String,
    server: String,
    name: String,
    admin_url: String,
    pub(super) control: Option<SocketAddr>,
    folder: TempDir,
}

impl Place {
    pub(super) async fn create(options: &Options, database: Database) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("idem-faults-").tempdir()?;
        let name = format!("faults_{}", Uuid::new_v4().simple());
        let (admin_url, control) = match database {
            Database::Sqlite => (String::new(), None),
            Database::Postgres => {
                (options.postgres.clone().ok_or("--postgres is missing")?, options.postgres_control)
            }
            Database::Mariadb => {
                (options.mariadb.clone().ok_or("--mariadb is missing")?, options.mariadb_control)
            }
        };
        let (login, rest) = admin_url.split_once('@').unwrap_or_default();
        let server = rest.split('/').next().unwrap_or_default().to_owned();
        let login = format!("{login}@");
        let place = Self { database, login, server, name, admin_url, control, folder };
        place.administer(&format!("CREATE DATABASE {}", place.name)).await?;
        service::prepare(&place.url()).await?;
        Ok(place)
    }

    /// Where the processes write what goes wrong with them.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// The file that SQLite appends to.
    pub(super) fn write_ahead_log(&self) -> PathBuf {
        self.folder.path().join("faults.sqlite-wal")
    }

    /// The address of the server.
    pub(super) fn upstream(&self) -> Result<SocketAddr> {
        Ok(self.server.parse()?)
    }

    /// How to reach the database without a proxy.
    pub(super) fn url(&self) -> String {
        self.url_through(&self.server)
    }

    /// How to reach it at another address; without TLS, as a proxy cannot look into it.
    pub(super) fn url_through(&self, server: &str) -> String {
        let plain = match self.database {
            Database::Sqlite => {
                return format!("sqlite://{}?mode=rwc", self.folder.path().join("faults.sqlite").display());
            }
            Database::Postgres => "sslmode=disable",
            Database::Mariadb => "ssl-mode=DISABLED",
        };
        format!("{}{server}/{}?{plain}", self.login, self.name)
    }

    /// All effects in the tables, and the events that were not delivered although there was time.
    pub(super) async fn read(&self) -> Result<(Vec<Effect>, Vec<String>)> {
        match self.database {
            Database::Sqlite => self.read_on::<sqlx::Sqlite>().await,
            Database::Postgres => self.read_on::<sqlx::Postgres>().await,
            Database::Mariadb => self.read_on::<sqlx::MySql>().await,
        }
    }

    async fn read_on<D: Rows>(&self) -> Result<(Vec<Effect>, Vec<String>)> {
        let pool = service::open::<D>(&self.url()).await?;
        let start = tokio::time::Instant::now();
        let mut undelivered = D::undelivered(&pool).await?;
        while !undelivered.is_empty() && start.elapsed() < DELIVERED_WITHIN {
            tokio::time::sleep(Duration::from_millis(100)).await;
            undelivered = D::undelivered(&pool).await?;
        }
        let texts = D::effects(&pool).await?;
        pool.close().await;
        let effects = texts.iter().map(|text| serde_json::from_str(text));
        Ok((effects.collect::<std::result::Result<_, _>>()?, undelivered))
    }

    /// Drops the database.
    pub(super) async fn end(self) -> Result<()> {
        let force = if self.database == Database::Postgres { " WITH (FORCE)" } else { "" };
        self.administer(&format!("DROP DATABASE {}{force}", self.name)).await
    }

    async fn administer(&self, statement: &str) -> Result<()> {
        let statement = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()));
        match self.database {
            Database::Sqlite => {}
            Database::Postgres => {
                let mut connection = PgConnection::connect(&self.admin_url).await?;
                statement.execute(&mut connection).await?;
            }
            Database::Mariadb => {
                let mut connection = MySqlConnection::connect(&self.admin_url).await?;
                statement.execute(&mut connection).await?;
            }
        }
        Ok(())
    }
}
