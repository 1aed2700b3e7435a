//! Connections that the database itself holds read-only.
//!
//! A checkout is one read-only transaction. It ends when the connection is given back, and a connection that did
//! not come back as it went is closed, so that nothing of one checkout reaches the next.

use std::fmt;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use sqlx::pool::PoolConnection;

use crate::store::{ConnectionOf, Store, StoreResult};

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

/// How long a connection may take to end its transaction before it is closed instead.
const PATIENCE: Duration = Duration::from_secs(10);

/// A store that can hold a connection read-only; implemented by `sqlx::Sqlite`, `sqlx::Postgres` and
/// `sqlx::MySql`.
pub trait ReadStore: Store {
    /// What tells the transaction of a checkout from any other.
    type Mark: Send + Sync + 'static;

    /// The pool from which checkouts come, made from the application's own.
    fn open_read_only(
        pool: &sqlx::Pool<Self>,
    ) -> impl Future<Output = Result<sqlx::Pool<Self>, ReadPoolError>> + Send;

    /// Begins a read-only transaction that cannot be made a writing one.
    fn begin_read(conn: &mut ConnectionOf<Self>) -> impl Future<Output = StoreResult<Self::Mark>> + Send;

    /// Ends it; whether it was still the one that was begun, and leaves nothing behind.
    fn end_read(
        conn: &mut ConnectionOf<Self>,
        mark: Self::Mark,
    ) -> impl Future<Output = StoreResult<bool>> + Send;
}

/// A read pool that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadPoolError {
    /// The database did not answer, or refused a read-only connection.
    #[error("the database gave no read-only connection")]
    Database(#[from] sqlx::Error),
    /// A database in memory is seen by the connection that made it alone.
    #[error("a database in memory cannot be opened a second time to be read: use a file")]
    InMemory,
}

/// Hands out connections through which nothing can be written, for code that is `#[read_only]`.
///
/// On PostgreSQL, MySQL and MariaDB it shares the application's pool, and each checkout is a transaction of its own
/// that begins read-only, which also holds behind a pooler and on a replica. On SQLite it is a second pool, of the
/// same size, whose connections opened the file for reading only.
///
/// A write fails with the database's own error, and so does `SET TRANSACTION READ WRITE`. What a body can still do,
/// but on SQLite, is end the transaction by a `COMMIT` of its own and write after it, or call a function that has
/// effects outside of transactions, such as `dblink`. The first is noticed and logged as an error when the
/// connection comes back. Where code is not trusted, give `open` a pool of a role that may only read. On SQLite
/// `VACUUM INTO` can write a copy of the database to a new file.
///
/// A connection comes back to the pool only when its transaction was still open and not failed, and left nothing
/// behind: no setting, lock, temporary table or attached database reaches the next checkout. A connection whose
/// statement failed on PostgreSQL, or that committed, is closed. Not undone on SQLite are pragmas of the connection,
/// and on MySQL variables of the session; where those that decide how a writer works have changed, such as
/// `autocommit`, `sql_mode` or the schema of `USE`, the connection is closed.
///
/// ```
/// use idem_runtime::sqlite::ReadPool;
/// # use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("idem-read-pool-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let options = SqliteConnectOptions::new().filename(folder.join("shop.sqlite")).create_if_missing(true);
/// # let pool = SqlitePoolOptions::new().connect_with(options).await?;
/// sqlx::query("CREATE TABLE orders (sku TEXT)").execute(&pool).await?;
///
/// let reads = ReadPool::open(&pool).await?;
/// let mut connection = reads.acquire().await?;
/// let orders: i64 = sqlx::query_scalar("SELECT count(*) FROM orders").fetch_one(&mut *connection).await?;
/// assert_eq!(orders, 0);
/// assert!(sqlx::query("DELETE FROM orders").execute(&mut *connection).await.is_err());
/// # std::fs::remove_dir_all(&folder)?; Ok(()) }
/// ```
pub struct ReadPool<S: ReadStore>(sqlx::Pool<S>);

impl<S: ReadStore> ReadPool<S> {
    /// Makes a read pool from the application's pool.
    ///
    /// # Errors
    ///
    /// When the database cannot be reached or, on SQLite, lives in memory.
    pub async fn open(pool: &sqlx::Pool<S>) -> Result<Self, ReadPoolError> {
        S::open_read_only(pool).await.map(Self)
    }

    /// Takes a connection and begins its read-only transaction; waits while all are in use, as sqlx does.
    ///
    /// The transaction ends when the value is dropped. Hold it no longer than one needs one view of the data: on
    /// SQLite it keeps the write-ahead log from being taken back.
    pub async fn acquire(&self) -> sqlx::Result<ReadConnection<S>> {
        let connection = self.0.acquire().await?;
        // Built first: should this future be dropped, a connection that may have begun is closed.
        let mut reading = ReadConnection { connection: Some(connection), mark: None };
        reading.mark = Some(S::begin_read(&mut reading).await?);
        Ok(reading)
    }

    /// How many connections are open, in use or not; but on SQLite of the whole pool that is shared.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.0.size()
    }
}

impl<S: ReadStore> Clone for ReadPool<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: ReadStore> fmt::Debug for ReadPool<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadPool").field("size", &self.0.size()).finish_non_exhaustive()
    }
}

/// A connection in a read-only transaction; `&mut *connection` is the sqlx connection.
///
/// Savepoints of sqlx (`connection.begin()`) are allowed.
pub struct ReadConnection<S: ReadStore> {
    connection: Option<PoolConnection<S>>,
    mark: Option<S::Mark>,
}

const TAKEN: &str = "only `drop` takes the connection";

impl<S: ReadStore> Deref for ReadConnection<S> {
    type Target = ConnectionOf<S>;

    fn deref(&self) -> &ConnectionOf<S> {
        self.connection.as_ref().expect(TAKEN)
    }
}

impl<S: ReadStore> DerefMut for ReadConnection<S> {
    fn deref_mut(&mut self) -> &mut ConnectionOf<S> {
        self.connection.as_mut().expect(TAKEN)
    }
}

impl<S: ReadStore> fmt::Debug for ReadConnection<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadConnection").finish_non_exhaustive()
    }
}

impl<S: ReadStore> Drop for ReadConnection<S> {
    /// Gives the connection back in a task of its own, for the database has to be asked.
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        // Closed unless the end of its transaction says otherwise, also when the task is dropped half-way.
        connection.close_on_drop();
        let (Some(mark), Ok(runtime)) = (self.mark.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        runtime.spawn(give_back::<S>(connection, mark));
    }
}

async fn give_back<S: ReadStore>(mut connection: PoolConnection<S>, mark: S::Mark) {
    match tokio::time::timeout(PATIENCE, S::end_read(&mut connection, mark)).await {
        Ok(Ok(true)) => connection.return_to_pool().await,
        Ok(Ok(false)) => {
            tracing::error!(
                "a read-only checkout ended its transaction or left something behind; its connection is closed"
            );
        }
        // A failed statement, a lost connection: nothing that a reader did wrong.
        Ok(Err(_)) | Err(_) => {
            tracing::debug!("a read-only connection did not end its transaction and is closed");
        }
    }
}
