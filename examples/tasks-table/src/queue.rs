//! The queue: one table, and a worker that takes its rows. Any number of processes may run one.

use std::time::Duration;

use idem_runtime::sqlite::Guard;
use sqlx::{SqliteConnection, SqlitePool};
use uuid::Uuid;

use crate::error::AppError;
use crate::mails::{self, Mail};

/// A task is open until `done_at` is set. Who takes it moves `due_at` on: that is the lease, and the pause after a
/// failure as well.
pub(crate) const TABLE: &str = "CREATE TABLE IF NOT EXISTS tasks (
    id text PRIMARY KEY,
    payload text NOT NULL,
    due_at integer NOT NULL DEFAULT (unixepoch()),
    attempts integer NOT NULL DEFAULT 0,
    last_error text,
    done_at integer
)";

/// Takes the oldest task that is due, in one statement: no two workers get the same row.
///
/// The lease of three seconds is short because the demo waits for it. After twenty tries a task stays for an operator.
const TAKE: &str = "UPDATE tasks SET attempts = attempts + 1, due_at = unixepoch() + 3 WHERE id = (
    SELECT id FROM tasks WHERE done_at IS NULL AND due_at <= unixepoch() AND attempts < 20 ORDER BY due_at LIMIT 1
) RETURNING id, payload";

/// How often an idle worker looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Queues a mail on the connection of a transaction; the id of its task.
pub(crate) async fn push(connection: &mut SqliteConnection, mail: &Mail) -> Result<String, AppError> {
    let task_id = Uuid::new_v4().to_string();
    sqlx::query("INSERT INTO tasks (id, payload) VALUES (?1, ?2)")
        .bind(&task_id)
        .bind(serde_json::to_string(mail)?)
        .execute(connection)
        .await?;
    Ok(task_id)
}

/// Marks a task as done, on the connection of the transaction that holds its effect.
pub(crate) async fn done(connection: &mut SqliteConnection, task_id: &str) -> sqlx::Result<()> {
    let done = "UPDATE tasks SET done_at = unixepoch() WHERE id = ?1";
    sqlx::query(done).bind(task_id).execute(connection).await?;
    Ok(())
}

/// Runs a worker until the process ends.
pub(crate) async fn work(guard: Guard) {
    loop {
        match take_one(&guard).await {
            Ok(true) => {}
            Ok(false) => tokio::time::sleep(LOOK_EVERY).await,
            Err(error) => {
                eprintln!("the worker tries again: {error}");
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }
}

/// Runs one task, if one is due. A worker that dies in it leaves a row that is due again when its lease has ended.
async fn take_one(guard: &Guard) -> Result<bool, AppError> {
    let pool: &SqlitePool = guard.pool();
    let taken: Option<(String, String)> = sqlx::query_as(TAKE).fetch_optional(pool).await?;
    let Some((task_id, payload)) = taken else { return Ok(false) };
    mails::stand_still_if(mails::TAKEN).await;
    let mail = serde_json::from_str(&payload)?;
    if let Err(error) = mails::send_for_task(guard, &task_id, &mail).await {
        let note = "UPDATE tasks SET last_error = ?1 WHERE id = ?2";
        sqlx::query(note).bind(error.to_string()).bind(&task_id).execute(pool).await?;
    }
    Ok(true)
}
