//! `idem release`: makes one stuck or failed key claimable, and notes who did it and why.

use clap::builder::NonEmptyStringValueParser;
use idem_runtime::store::{Inspect, Release};
use idem_runtime::{Comparison, Verdict};
use serde::Serialize;

use super::Error;
use super::database::{Database, Job, Target};
use super::diagnose::Address;
use super::json::{document, wanted};
use super::words::{BAD, GOOD, address, styled};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem release --tenant-id acme --user-id user-7 --route payments.charge --idempotency-key k1 \\
      --reason 'the provider has no charge under the derived key'
  idem release ... --reason '...' --yes            do it
  idem release ... --reason '...' --yes --force    also while an attempt holds the lease

After it the same request runs again: make sure that the last attempt had no effect outside. Table
idempotency_releases keeps who released what, when and why.

Exit codes: 0 released (or would be, without --yes), 1 refused, 2 there is no answer.";

/// The arguments of `idem release`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    address: Address,
    /// Why; kept in the database.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    reason: String,
    /// Who; kept in the database.
    #[arg(long, env = "USER", value_parser = NonEmptyStringValueParser::new())]
    by: String,
    /// Also while an attempt holds the lease, whose own writes then come to nothing.
    #[arg(long)]
    force: bool,
    /// Do it; without this, say what would be done and change nothing.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Report<'a> {
    released: bool,
    /// The verdict on the record as it was found.
    verdict: &'a str,
    /// Why it was not released, if so.
    refusal: Option<&'a str>,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let key = self.address.key()?;
        let mut connection = database.records().await?;
        let reading = database.ask(S::read(&mut connection, &key).await)?;
        let Some(reading) = reading else {
            return self.answer(&address(&key), Verdict::Missing, false, Some("there is no such record"));
        };
        let record = &reading.record;
        let verdict = idem_runtime::diagnose(Some(record), |_| Comparison::Same, reading.now).verdict;
        let mut refusal = refusal(verdict, self.force);
        let mut released = false;
        if refusal.is_none() && self.yes {
            let forced = verdict == Verdict::InProgress;
            let note = Release { by: self.by.clone(), reason: self.reason.clone(), forced };
            released = database.ask(S::release_noted(&mut connection, record, &note).await)?;
            if !released {
                refusal = Some("the record changed meanwhile: look at it again");
            }
        }
        self.answer(&address(&key), verdict, released, refusal)
    }
}

impl Args {
    fn answer(
        &self,
        key: &str,
        verdict: Verdict,
        released: bool,
        refusal: Option<&str>,
    ) -> Result<Answer, Error> {
        let outcome = if refusal.is_some() { Outcome::Denied } else { Outcome::Clean };
        let text = match refusal {
            _ if wanted(self) => {
                document("release", Report { released, verdict: verdict.as_str(), refusal })?
            }
            Some(refusal) => format!("{} ({verdict}): {refusal}\n", styled(BAD, "not released")),
            None if released => format!("{} ({verdict} before): {key}\n", styled(GOOD, "released")),
            None => format!("would release ({verdict}), --yes does it: {key}\n"),
        };
        Ok(Answer { text, outcome })
    }
}

/// Why a record is not released, if so.
fn refusal(verdict: Verdict, force: bool) -> Option<&'static str> {
    match verdict {
        Verdict::Missing => Some("there is no such record"),
        Verdict::Replayable => Some("it succeeded, and a success is never released"),
        Verdict::ExpiredReusable => Some("its life is over, so the key is free already"),
        Verdict::Released => Some("it is released already"),
        Verdict::InProgress if !force => {
            Some("an attempt holds the lease: wait for its end, or say --force if it is known to be dead")
        }
        _ => None,
    }
}
