//! `idem outbox`: what has become of the events that bodies published, and the few things to do about them.
//!
//! `json` and `words` hold what an event looks like to programs and to people.

use clap::Subcommand;
use idem_runtime::store::{ConnectionOf, Inspect, StoredEvent};
use uuid::Uuid;

use super::Error;
use super::database::{self, Database};
use crate::Answer;

mod check;
mod dead;
mod json;
mod list;
mod purge;
mod retry;
mod show;
mod stats;
mod words;

pub(super) use check::check;

const EXAMPLES: &str = "\
Examples:
  idem outbox stats                                   how many events wait, are delivered, are dead
  idem outbox list --status dead                      those that were given up
  idem outbox show 6f9619ff-8b86-4d01-b42d-00cf4fc964ff
  idem outbox retry --type order.created --all --yes  after the handler was mended

Exit codes: 0 done, 1 something was found or refused, 2 there is no answer.";

/// What to do with the events of a database.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// List events, in the order of their numbers.
    List(list::Args),
    /// Show all that is known of one event.
    Show(show::Args),
    /// Count the events of each type, version and status, with the age of the oldest.
    Stats(stats::Args),
    /// Deliver dead events again.
    Retry(retry::Args),
    /// Give up one event by hand.
    Dead(dead::Args),
    /// Delete the events that were delivered long ago.
    Purge(purge::Args),
}

/// Carries out `command`.
pub(super) fn run(command: &Command) -> Result<Answer, Error> {
    match command {
        Command::List(args) => database::run(args),
        Command::Show(args) => database::run(args),
        Command::Stats(args) => database::run(args),
        Command::Retry(args) => database::run(args),
        Command::Dead(args) => database::run(args),
        Command::Purge(args) => database::run(args),
    }
}

/// One connection to a database that has our tables.
async fn connect<S: Inspect>(database: &Database<'_, S>) -> Result<ConnectionOf<S>, Error> {
    let mut connection = database.connection().await?;
    if database.ask(S::has_outbox(&mut connection).await)? {
        return Ok(connection);
    }
    let missing = "the table idempotency_outbox_events is missing or outdated: run `idem migrate`";
    database.ask(Err(missing))
}

/// The event of that id, if there is one.
async fn find<S: Inspect>(
    database: &Database<'_, S>,
    connection: &mut ConnectionOf<S>,
    id: Uuid,
) -> Result<Option<StoredEvent>, Error> {
    database.ask(S::event(connection, id).await)
}

/// Whether a dispatcher holds the event at this moment.
fn is_held(event: &StoredEvent) -> bool {
    use idem_runtime::store::EventStatus;
    event.status == EventStatus::Pending && event.claim_id.is_some() && event.due_at > event.now
}
