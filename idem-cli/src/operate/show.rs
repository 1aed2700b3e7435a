//! `idem show`: all that is known of one record.

use idem_runtime::store::Inspect;
use serde::Serialize;

use super::Error;
use super::database::{Database, Job, Target};
use super::diagnose::Address;
use super::json::{RecordJson, document, wanted};
use super::words::{address, body, facts, record};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem show --tenant-id acme --user-id user-7 --route orders.create --idempotency-key k1
  idem show ... --show-body    with the stored answer
  idem show ... --json         without it; `idem diagnose --json` has it

Exit codes: 0 shown, 1 there is no such record, 2 there is no answer.";

/// The arguments of `idem show`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    address: Address,
    /// Print the body of the stored answer too.
    #[arg(long)]
    show_body: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Report<'a> {
    record: Option<RecordJson<'a>>,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let key = self.address.key()?;
        let mut connection = database.records().await?;
        let reading = database.ask(S::read(&mut connection, &key).await)?;
        let outcome = if reading.is_some() { Outcome::Clean } else { Outcome::Denied };
        let text = match &reading {
            _ if wanted(self) => document("show", Report { record: reading.as_ref().map(RecordJson::from) })?,
            None => format!("no record: {}\n", address(&key)),
            Some(reading) => {
                let mut rows =
                    vec![("key", address(&key)), ("request hash", reading.record.request_hash.clone())];
                rows.extend(record(reading));
                facts(&rows) + &if self.show_body { body(reading) } else { String::new() }
            }
        };
        Ok(Answer { text, outcome })
    }
}
