//! The queue of apalis, in our own database.

use std::time::Duration;

use apalis::prelude::{BoxDynError, Data, TaskBuilder, TaskId, WorkerBuilder};
use apalis_sqlite::{Config, SqliteConnection, SqlitePool, SqliteStorage, queries::push_tasks};
use idem_runtime::sqlite::Guard;
use ulid::Ulid;
use uuid::Uuid;

use crate::error::AppError;
use crate::mails::{self, Mail};

const QUEUE: &str = "mails";
/// How often a worker says that it is alive. One that missed two is believed dead, and its jobs go to another.
///
/// Short because the demo waits for it.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Makes the tables of the queue.
///
/// Not by `SqliteStorage::setup`: that also sets `synchronous = OFF` on a connection of our pool, whose commits would
/// then not survive a crash of the machine.
pub(crate) async fn create_tables(pool: &SqlitePool) -> sqlx::Result<()> {
    Ok(SqliteStorage::migrations().run(pool).await?)
}

/// Queues a mail on the connection of a transaction; the id of its task.
pub(crate) async fn push(connection: &mut SqliteConnection, mail: &Mail) -> Result<String, AppError> {
    let task_id = Ulid::generate();
    let task = TaskBuilder::new(serde_json::to_vec(mail)?).task_id(TaskId::from_ulid(task_id)).build();
    push_tasks(connection, QUEUE, &[task]).await?;
    Ok(task_id.to_string())
}

/// Runs a worker until the process ends.
pub(crate) async fn work(guard: Guard) {
    let config = Config::default().queue(QUEUE).heartbeat_interval(HEARTBEAT);
    let backend = SqliteStorage::<Mail>::new(guard.pool()).with_config(config);
    // A name of its own: a worker that was killed seems alive for a while, and would not let another have its name.
    let name = format!("mails-{}", Uuid::new_v4().simple());
    let worker = WorkerBuilder::new(name).backend(backend).data(guard).build(send);
    if let Err(error) = worker.run().await {
        eprintln!("the worker stopped: {error}");
    }
}

/// One run of a job. The queue runs it until it has noted a success, so a crash before the note runs it again.
async fn send(mail: Mail, task_id: TaskId, guard: Data<Guard>) -> Result<(), BoxDynError> {
    mails::send_for_task(&guard, &task_id.to_string(), &mail).await?;
    mails::stand_still_if(mails::BEFORE_NOTE).await;
    Ok(())
}
