//! `idem outbox show`: all that is known of one event.

use idem_runtime::store::Inspect;
use serde::Serialize;
use uuid::Uuid;

use super::json::{ContentJson, EventJson};
use super::{connect, find, words};
use crate::operate::Error;
use crate::operate::database::{Database, Job, Target};
use crate::operate::json::{document, wanted};
use crate::operate::words::facts;
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem outbox show 6f9619ff-8b86-4d01-b42d-00cf4fc964ff
  idem outbox show 6f9619ff-8b86-4d01-b42d-00cf4fc964ff --show-payload
  idem outbox show 6f9619ff-8b86-4d01-b42d-00cf4fc964ff --json    always with the payload

Exit codes: 0 shown, 1 there is no such event, 2 there is no answer.";

/// The arguments of `idem outbox show`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The event's id; the record of the request that published it has it as `outbox_event_id`.
    event_id: Uuid,
    /// Print the headers and the payload too.
    #[arg(long)]
    show_payload: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Report<'a> {
    event: Option<EventJson<'a>>,
    content: Option<ContentJson>,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let mut connection = connect(database).await?;
        let event = find(database, &mut connection, self.event_id).await?;
        let outcome = if event.is_some() { Outcome::Clean } else { Outcome::Denied };
        let text = match &event {
            _ if wanted(self) => {
                let event = event.as_ref();
                let report =
                    Report { event: event.map(EventJson::from), content: event.map(ContentJson::from) };
                document("outbox show", report)?
            }
            None => format!("no event: {}\n", self.event_id),
            Some(event) => {
                let content = if self.show_payload { words::content(event) } else { String::new() };
                facts(&words::event(event)) + &content
            }
        };
        Ok(Answer { text, outcome })
    }
}
