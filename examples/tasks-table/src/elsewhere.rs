//! A queue that is not in our database: another file, which plays the service of somebody else.

use std::path::Path;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

/// Where the pretend service keeps its tasks.
const FILE: &str = "elsewhere.sqlite";

const TABLE: &str = "CREATE TABLE IF NOT EXISTS submitted (task_id text PRIMARY KEY, report text NOT NULL, asked integer NOT NULL)";

/// The client of the queue.
#[derive(Debug, Clone)]
pub(crate) struct Elsewhere(SqlitePool);

impl Elsewhere {
    /// Connects to the queue in this folder.
    pub(crate) async fn open(folder: &Path) -> sqlx::Result<Self> {
        let options = SqliteConnectOptions::new().filename(folder.join(FILE)).create_if_missing(true);
        let pool = SqlitePoolOptions::new().max_connections(2).connect_with(options).await?;
        sqlx::raw_sql(TABLE).execute(&pool).await?;
        Ok(Self(pool))
    }

    /// Submits a task. The queue recognises an id that it has, and queues nothing.
    pub(crate) async fn submit(&self, task_id: &str, report: &str) -> sqlx::Result<()> {
        let submit = "INSERT INTO submitted (task_id, report, asked) VALUES (?1, ?2, 1) \
                      ON CONFLICT (task_id) DO UPDATE SET asked = asked + 1";
        sqlx::query(submit).bind(task_id).bind(report).execute(&self.0).await?;
        Ok(())
    }

    /// The id of each task of a report, and how often it was submitted.
    pub(crate) async fn tasks(&self, report: &str) -> sqlx::Result<Vec<(String, i64)>> {
        let tasks = "SELECT task_id, asked FROM submitted WHERE report = ?1";
        sqlx::query_as(tasks).bind(report).fetch_all(&self.0).await
    }
}
