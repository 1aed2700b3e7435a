//! The database of an example: one SQLite file in its folder.

use std::path::Path;
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

/// Opens the database of an example, and creates it when it is not there.
pub async fn open(folder: &Path) -> sqlx::Result<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(folder.join("example.sqlite"))
        .create_if_missing(true)
        // Readers and the writer do not block each other.
        .journal_mode(SqliteJournalMode::Wal)
        // The guard refuses less: an answer that was given must survive a crash.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(5));
    SqlitePoolOptions::new().max_connections(5).connect_with(options).await
}
