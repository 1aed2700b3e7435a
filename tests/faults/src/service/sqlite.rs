//! The same on SQLite, with hooks inside its statements and a limit of its size.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteOperation, SqliteSynchronous};
use sqlx::{AssertSqlSafe, Pool, Sqlite, SqliteConnection};

use super::points::Points;
use super::rows::{Hooks, Limits, Rows, options, shared_statements};
use crate::plan::Point;

#[expect(private_interfaces, reason = "only this program opens pools")]
impl Rows for Sqlite {
    async fn open(url: &str, connections: u32, hooks: Hooks) -> sqlx::Result<Pool<Self>> {
        let settings = url.parse::<SqliteConnectOptions>()?.create_if_missing(true).foreign_keys(true);
        let settings = settings.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        let settings = settings.busy_timeout(Duration::from_secs(2));
        let mut options = options(connections);
        if let Some((points, limits)) = hooks {
            options = options.after_connect(move |connection, _| {
                let points = points.clone();
                Box::pin(async move { hook(connection, points).await })
            });
            options = options.before_acquire(move |connection, _| {
                let limits = limits.clone();
                Box::pin(async move { limit(connection, &limits).await })
            });
        }
        options.connect_with(settings).await
    }

    async fn create(pool: &Pool<Self>) -> sqlx::Result<()> {
        sqlx::query("CREATE TABLE effects (effect TEXT NOT NULL)").execute(pool).await.map(drop)
    }

    async fn pages(pool: &Pool<Self>) -> sqlx::Result<i64> {
        sqlx::query_scalar("PRAGMA page_count").fetch_one(pool).await
    }

    shared_statements!("INSERT INTO effects (effect) VALUES (?1)");
}

async fn hook(connection: &mut SqliteConnection, points: Points) -> sqlx::Result<()> {
    let mut handle = connection.lock_handle().await?;
    let at_commit = points.clone();
    handle.set_commit_hook(move || {
        at_commit.reach(Point::SqliteCommit, "");
        true
    });
    handle.set_update_hook(move |update| match (update.operation, update.table) {
        (SqliteOperation::Insert, "idempotency_records") => points.reach(Point::SqliteClaim, ""),
        // An event that is taken or marked.
        (SqliteOperation::Update, "idempotency_outbox_events") => points.reach(Point::SqliteMark, ""),
        _ => {}
    });
    Ok(())
}

/// A limit below the present size is the present size.
async fn limit(connection: &mut SqliteConnection, limits: &Limits) -> sqlx::Result<bool> {
    let pages = match limits.0.load(Ordering::SeqCst) {
        0 => 1_073_741_823,
        pages => pages,
    };
    let pragma = format!("PRAGMA max_page_count = {pages}");
    sqlx::query(AssertSqlSafe(pragma)).execute(connection).await?;
    Ok(true)
}
