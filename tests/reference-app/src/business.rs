//! The business rows and the counters, with the few words in which the databases differ.

use std::future::Future;
use std::time::Duration;

use idem_runtime::store::{ConnectionOf, Store};
use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Pool};

/// A row that a handler leaves behind: what the cases count as one effect.
#[derive(Debug, Clone, Copy)]
pub struct NewRow<'a> {
    /// The case that asked.
    pub case: &'a str,
    /// Method and route.
    pub route: &'a str,
    /// What it is about: the id of a profile.
    pub subject: &'a str,
    /// The rest, as JSON.
    pub content: &'a str,
    /// The key by which a partner recognises a repetition: a second row with it is not written.
    pub downstream_key: Option<&'a str>,
}

/// How often something happened, by method and route.
pub type Counts = Vec<(String, i64)>;

/// A database of the guard that also holds the rows of this app.
pub trait Business: Store {
    /// Connects to at most `connections`.
    fn open(url: &str, connections: u32) -> impl Future<Output = sqlx::Result<Pool<Self>>> + Send;

    /// Where entries are counted when nothing was said.
    fn counts_url(database_url: &str) -> String;

    /// Makes the business table, unless it is there.
    fn create_rows(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Makes the table of entries, unless it is there.
    fn create_entries(pool: &Pool<Self>) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Writes a row and gives its id.
    fn write_row(
        connection: &mut ConnectionOf<Self>,
        row: NewRow<'_>,
    ) -> impl Future<Output = sqlx::Result<i64>> + Send;

    /// The content of the last row about `subject`.
    fn last_about(
        connection: &mut ConnectionOf<Self>,
        subject: &str,
    ) -> impl Future<Output = sqlx::Result<Option<String>>> + Send;

    /// The committed rows of a case.
    fn effects(pool: &Pool<Self>, case: &str) -> impl Future<Output = sqlx::Result<Counts>> + Send;

    /// Counts an entry into a handler, whatever becomes of it.
    fn enter(entries: &Pool<Self>, case: &str, route: &str) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// The entries of a case.
    fn executed(entries: &Pool<Self>, case: &str) -> impl Future<Output = sqlx::Result<Counts>> + Send;
}

const ENTRIES: &str = "CREATE TABLE IF NOT EXISTS entries (case_name text NOT NULL, route text NOT NULL)";
// A second row of one downstream key gives the id of the first.
const INSERT: &str = "INSERT INTO business_rows (case_name, route, subject, content, downstream_key) \
                      VALUES ($1, $2, $3, $4, $5) \
                      ON CONFLICT (downstream_key) DO UPDATE SET downstream_key = excluded.downstream_key \
                      RETURNING id";
const LAST_ABOUT: &str = "SELECT content FROM business_rows WHERE subject = $1 ORDER BY id DESC LIMIT 1";
const EFFECTS: &str = "SELECT route, count(*) FROM business_rows WHERE case_name = $1 GROUP BY route";
const ENTER: &str = "INSERT INTO entries (case_name, route) VALUES ($1, $2)";
const EXECUTED: &str = "SELECT route, count(*) FROM entries WHERE case_name = $1 GROUP BY route";

/// The statements are the same, but sqlx checks the types of each database apart.
macro_rules! shared_statements {
    ($id:literal) => {
        async fn create_rows(pool: &Pool<Self>) -> sqlx::Result<()> {
            let columns = "case_name text NOT NULL, route text NOT NULL, subject text NOT NULL, \
                           content text NOT NULL, downstream_key text UNIQUE";
            let create = format!("CREATE TABLE IF NOT EXISTS business_rows (id {}, {columns})", $id);
            sqlx::query(AssertSqlSafe(create)).execute(pool).await.map(drop)
        }

        async fn create_entries(pool: &Pool<Self>) -> sqlx::Result<()> {
            sqlx::query(ENTRIES).execute(pool).await.map(drop)
        }

        async fn write_row(connection: &mut ConnectionOf<Self>, row: NewRow<'_>) -> sqlx::Result<i64> {
            let insert = sqlx::query_scalar(INSERT).bind(row.case).bind(row.route).bind(row.subject);
            insert.bind(row.content).bind(row.downstream_key).fetch_one(connection).await
        }

        async fn last_about(
            connection: &mut ConnectionOf<Self>,
            subject: &str,
        ) -> sqlx::Result<Option<String>> {
            sqlx::query_scalar(LAST_ABOUT).bind(subject).fetch_optional(connection).await
        }

        async fn effects(pool: &Pool<Self>, case: &str) -> sqlx::Result<Counts> {
            sqlx::query_as(EFFECTS).bind(case).fetch_all(pool).await
        }

        async fn enter(entries: &Pool<Self>, case: &str, route: &str) -> sqlx::Result<()> {
            sqlx::query(ENTER).bind(case).bind(route).execute(entries).await.map(drop)
        }

        async fn executed(entries: &Pool<Self>, case: &str) -> sqlx::Result<Counts> {
            sqlx::query_as(EXECUTED).bind(case).fetch_all(entries).await
        }
    };
}

impl Business for sqlx::Sqlite {
    async fn open(url: &str, connections: u32) -> sqlx::Result<Pool<Self>> {
        let options = url.parse::<SqliteConnectOptions>()?.create_if_missing(true);
        let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        let options = options.busy_timeout(Duration::from_secs(1));
        PoolOptions::new().max_connections(connections).connect_with(options).await
    }

    /// A file of its own: a body that writes holds the lock of the first one.
    fn counts_url(database_url: &str) -> String {
        let (path, options) = database_url.split_once('?').unwrap_or((database_url, "mode=rwc"));
        format!("{path}.counts?{options}")
    }

    shared_statements!("integer PRIMARY KEY AUTOINCREMENT");
}

#[cfg(feature = "postgres")]
impl Business for sqlx::Postgres {
    async fn open(url: &str, connections: u32) -> sqlx::Result<Pool<Self>> {
        PoolOptions::new().max_connections(connections).connect(url).await
    }

    fn counts_url(database_url: &str) -> String {
        database_url.to_owned()
    }

    shared_statements!("bigserial PRIMARY KEY");
}

#[cfg(feature = "mysql")]
mod on_mysql;
