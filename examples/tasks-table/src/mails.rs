//! Sends a mail: the task, which takes effect once although more than one worker may run it.

use idem_runtime::sqlite::{Guard, Idempotency, Mutation};
use idem_runtime::{Error, IdempotencyKey, Scope, idempotent};
use serde::{Deserialize, Serialize};

use crate::error::AppError;
use crate::queue;

/// The pretend mail server: what is in it was sent. No unique key here either.
pub(crate) const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS mails (customer text NOT NULL, task_id text NOT NULL, text text NOT NULL)";

/// Where the worker stands still, if the variable names the place, so that the demo can kill it there.
pub(crate) const STALL: &str = "TASKS_STALL";
/// The task is taken, and nothing else has happened.
pub(crate) const TAKEN: &str = "taken";
/// The mail is written and the task marked, and their transaction is not committed.
pub(crate) const IN_EFFECT: &str = "in-effect";

/// What the task needs; it is what the table keeps.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Mail {
    pub(crate) tenant: String,
    pub(crate) customer: String,
    pub(crate) cents: i64,
}

/// Sends the mail of a task; for the same task it is one mail.
pub(crate) async fn send_for_task(guard: &Guard, task_id: &str, mail: &Mail) -> Result<(), AppError> {
    let scope = Scope::new(&mail.tenant, "tasks").map_err(Error::from)?;
    let key = IdempotencyKey::new(task_id).map_err(Error::from)?;
    deliver(&guard.request(scope, key), mail).await
}

/// Writes the mail and marks the task, in one transaction.
///
/// The guard is for the worker that slept through its lease while another one took the task: what it wakes up with is
/// rolled back, or answered with what the other one did.
#[idempotent(route = "mails.deliver", retry_failed = true, lease = "2s", wait = "5s")]
async fn deliver(idem: &Idempotency, mutation: &mut Mutation, mail: &Mail) -> Result<(), AppError> {
    let task_id = mutation.record_key().key().as_str().to_owned();
    sqlx::query("INSERT INTO mails (customer, task_id, text) VALUES (?1, ?2, ?3)")
        .bind(&mail.customer)
        .bind(&task_id)
        .bind(format!("please pay {} cents", mail.cents))
        .execute(&mut **mutation)
        .await?;
    queue::done(mutation, &task_id).await?;
    stand_still_if(IN_EFFECT).await;
    Ok(())
}

/// Stands still for ever when the demo wants it here, and says so.
pub(crate) async fn stand_still_if(place: &str) {
    if std::env::var(STALL).is_ok_and(|stall| stall == place) {
        example_support::say(place);
        std::future::pending::<()>().await;
    }
}
