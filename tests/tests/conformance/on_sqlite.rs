//! All cases on SQLite; the store is away while another process holds the lock for writing.

use idem_test_support::sqlite::SqliteDatabase;
use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions, Connection};
use tokio::sync::Mutex;

use crate::app::{ReferenceApp, Store};
use crate::{CONNECTIONS, run_all};

struct WriteLock {
    database: SqliteDatabase,
    holder: Mutex<Option<SqliteConnection>>,
}

impl Store for WriteLock {
    /// This process is another one than the app, so the app's writers meet the lock of the file.
    async fn take_away(&self) -> Result<(), String> {
        let mut holder = self.database.options().connect().await.map_err(|error| error.to_string())?;
        sqlx::query("BEGIN IMMEDIATE").execute(&mut holder).await.map_err(|error| error.to_string())?;
        *self.holder.lock().await = Some(holder);
        Ok(())
    }

    async fn give_back(&self) -> Result<(), String> {
        let holder = self.holder.lock().await.take().ok_or("the store was not away")?;
        holder.close().await.map_err(|error| error.to_string())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_holds_on_sqlite() {
    let database = SqliteDatabase::create();
    let url = database.url();
    let pool = database.pool(CONNECTIONS).await;
    let store = WriteLock { database, holder: Mutex::default() };
    let app =
        ReferenceApp::start(&["--database-url", &url, "--statement-timeout-ms", "1500"], store, pool).await;
    run_all("sqlite", &app.server(), &app).await;
}
