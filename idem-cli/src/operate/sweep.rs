//! `idem expire` and `idem purge`: in batches, so that no lock is held for long.

use std::time::Duration;

use idem_runtime::store::{Due, Inspect};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::Error;
use super::database::{Database, Job, Target};
use super::json::{document, wanted};
use super::span::{parse, words};
use crate::{Answer, Outcome};

const EXPIRE: &str = "\
Examples:
  idem expire          how many records are past their life
  idem expire --yes    mark them as expired

Leaves alone: attempts under a lease, unknown outcomes, and external attempts that may not simply run again.

Exit codes: 0 done, 2 there is no answer.";

const PURGE: &str = "\
Examples:
  idem purge --older-than 7d          how many records ended a week ago or earlier
  idem purge --older-than 7d --yes    delete them

A key whose record is gone is a new key. Leaves alone what `idem expire` leaves alone.

Exit codes: 0 done, 2 there is no answer.";

/// What both sweeps take.
#[derive(Debug, clap::Args)]
pub(super) struct Sweep {
    /// Do it; without this, say what would be done and change nothing.
    #[arg(long)]
    yes: bool,
    /// How many records one statement changes at most.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,
    #[command(flatten)]
    target: Target,
}

/// The arguments of `idem expire`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXPIRE)]
pub struct ExpireArgs {
    #[command(flatten)]
    sweep: Sweep,
}

/// The arguments of `idem purge`.
#[derive(Debug, clap::Args)]
#[command(after_help = PURGE)]
pub struct PurgeArgs {
    /// How long ago the life of a record must have ended.
    #[arg(long, value_name = "SPAN", value_parser = parse)]
    older_than: Duration,
    #[command(flatten)]
    sweep: Sweep,
}

#[derive(Serialize)]
struct Report {
    /// Whether records were changed; else `records` would be.
    done: bool,
    records: u64,
}

impl Job for ExpireArgs {
    fn target(&self) -> &Target {
        &self.sweep.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let records = self.sweep.run(database, Due::Expire).await?;
        if wanted(self) {
            return Ok(answer(document("expire", self.sweep.report(records))?));
        }
        Ok(answer(if self.sweep.yes {
            format!("marked {records} records as expired\n")
        } else {
            format!("{records} records are past their life: --yes marks them as expired\n")
        }))
    }
}

impl Job for PurgeArgs {
    fn target(&self) -> &Target {
        &self.sweep.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let records = self.sweep.run(database, Due::Purge(self.older_than)).await?;
        if wanted(self) {
            return Ok(answer(document("purge", self.sweep.report(records))?));
        }
        let age = words(self.older_than);
        Ok(answer(if self.sweep.yes {
            format!("deleted {records} records that ended {age} ago or earlier\n")
        } else {
            format!("{records} records ended {age} ago or earlier: --yes deletes them\n")
        }))
    }
}

impl Sweep {
    /// How many records were changed, or would be.
    async fn run<S: Inspect>(&self, database: &Database<'_, S>, due: Due) -> Result<u64, Error> {
        let mut connection = database.records().await?;
        let expected = database.ask(S::due(&mut connection, due).await)?;
        if !self.yes {
            return Ok(expected);
        }
        // Draws on the standard error, and only where that is a terminal.
        let bar = ProgressBar::new(expected);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos} of {len} ({eta})") {
            bar.set_style(style);
        }
        loop {
            let swept = match due {
                Due::Expire => S::expire(&mut connection, self.batch).await,
                Due::Purge(older_than) => S::purge(&mut connection, older_than, self.batch).await,
            };
            match database.ask(swept)?.count {
                0 => break,
                count => bar.inc(count),
            }
        }
        bar.finish_and_clear();
        Ok(bar.position())
    }

    fn report(&self, records: u64) -> Report {
        Report { done: self.yes, records }
    }
}

fn answer(text: String) -> Answer {
    Answer { text, outcome: Outcome::Clean }
}
