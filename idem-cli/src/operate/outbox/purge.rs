//! `idem outbox purge`: deletes what was delivered long ago, in batches.

use std::time::Duration;

use idem_runtime::store::Inspect;
use serde::Serialize;

use super::connect;
use crate::operate::Error;
use crate::operate::database::{Database, Job, Target};
use crate::operate::json::{document, wanted};
use crate::operate::span::{parse, words};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem outbox purge --older-than 7d          how many events were delivered a week ago or earlier
  idem outbox purge --older-than 7d --yes    delete them

Pending and dead events stay, however old they are.

Exit codes: 0 done, 2 there is no answer.";

/// The arguments of `idem outbox purge`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How long ago an event must have been delivered.
    #[arg(long, value_name = "SPAN", value_parser = parse)]
    older_than: Duration,
    /// Do it; without this, say what would be done and change nothing.
    #[arg(long)]
    yes: bool,
    /// How many events one statement deletes at most.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Report {
    /// Whether events were deleted; else `events` would be.
    done: bool,
    events: u64,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let mut connection = connect(database).await?;
        let mut events = 0;
        if self.yes {
            loop {
                let purged = S::purge_events(&mut connection, self.older_than, self.batch).await;
                match database.ask(purged)? {
                    0 => break,
                    count => events += count,
                }
            }
        } else {
            events = database.ask(S::purgeable_events(&mut connection, self.older_than).await)?;
        }
        let age = words(self.older_than);
        let text = if wanted(self) {
            document("outbox purge", Report { done: self.yes, events })?
        } else if self.yes {
            format!("deleted {events} events that were delivered {age} ago or earlier\n")
        } else {
            format!("{events} events were delivered {age} ago or earlier: --yes deletes them\n")
        };
        Ok(Answer { text, outcome: Outcome::Clean })
    }
}
