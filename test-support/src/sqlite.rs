//! A SQLite database in a folder of its own, gone when the value is dropped.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use tempfile::TempDir;

/// A SQLite database file of one test.
#[derive(Debug)]
pub struct SqliteDatabase {
    folder: TempDir,
}

impl SqliteDatabase {
    /// Makes the folder; the file appears with the first connection.
    ///
    /// # Panics
    /// When the folder for temporary files cannot be written.
    #[must_use]
    pub fn create() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("idem-sqlite-")
            .tempdir()
            .expect("the folder for temporary files is writable");
        Self { folder }
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("test.sqlite")
    }

    /// The settings that the framework asks for: WAL, full synchronisation, foreign keys, a patient lock.
    #[must_use]
    pub fn options(&self) -> SqliteConnectOptions {
        SqliteConnectOptions::new()
            .filename(self.path())
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5))
            .foreign_keys(true)
    }

    /// A pool with those settings.
    ///
    /// # Panics
    /// When the file cannot be opened.
    pub async fn pool(&self, max_connections: u32) -> SqlitePool {
        SqlitePoolOptions::new()
            .max_connections(max_connections)
            .connect_with(self.options())
            .await
            .expect("a new SQLite file can be opened")
    }

    /// A URL for programs that take one; it creates the file, but carries none of the other settings.
    #[must_use]
    pub fn url(&self) -> String {
        format!("sqlite://{}?mode=rwc", self.path().display())
    }
}
