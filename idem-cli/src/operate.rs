//! The commands for whoever runs an application: what its records say, and the few things to do about them.
//!
//! Each command is a `Job` in a file of its own and is written once for all databases; `database` alone knows
//! which there are. `json` holds the shapes that docs/cli.md promises, `words` the text for people.

mod database;
mod diagnose;
mod doctor;
mod json;
mod list;
mod migrate;
mod outbox;
mod release;
mod show;
mod span;
mod stats;
mod sweep;
mod watch;
mod words;

use crate::Answer;

/// What to do with a database.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Say what the next request with a key would get, and why.
    Diagnose(diagnose::Args),
    /// Mark the records past their life as expired.
    Expire(sweep::ExpireArgs),
    /// Delete the records whose life ended long ago.
    Purge(sweep::PurgeArgs),
    /// Create or update the tables.
    Migrate(migrate::Args),
    /// List records, in the order of their keys.
    List(list::Args),
    /// Show all that is known of one record.
    Show(show::Args),
    /// Count the records of each route, with their ages.
    Stats(stats::Args),
    /// Watch the counts of each route, live.
    Watch(watch::Args),
    /// Make a stuck or failed key claimable again.
    Release(release::Args),
    /// Look for what would break a promise.
    Doctor(doctor::Args),
    /// Look at published events, retry the dead ones, and delete the delivered ones.
    #[command(subcommand)]
    Outbox(outbox::Command),
}

/// Why a command gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arguments contradict each other or the database.
    #[error("{0}")]
    Usage(String),
    /// The database did not answer, or refused.
    #[error("{database}: {message}")]
    Database {
        /// Which, without its password.
        database: String,
        /// What it said.
        message: String,
    },
}

/// Carries out `command`.
///
/// ```
/// use clap::Parser;
///
/// let idem = ["idem", "migrate", "--print", "--database-url", "sqlite::memory:"];
/// let answer = idem_cli::Cli::parse_from(idem).answer()?;
/// assert!(answer.text.contains("CREATE TABLE idempotency_records"));
/// # Ok::<(), idem_cli::Error>(())
/// ```
pub fn run(command: &Command) -> Result<Answer, Error> {
    match command {
        Command::Diagnose(args) => database::run(args),
        Command::Expire(args) => database::run(args),
        Command::Purge(args) => database::run(args),
        Command::Migrate(args) => database::run(args),
        Command::List(args) => database::run(args),
        Command::Show(args) => database::run(args),
        Command::Stats(args) => database::run(args),
        Command::Watch(args) => database::run(args),
        Command::Release(args) => database::run(args),
        Command::Doctor(args) => database::run(args),
        Command::Outbox(command) => outbox::run(command),
    }
}
