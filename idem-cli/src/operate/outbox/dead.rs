//! `idem outbox dead`: gives up one event by hand, so that its aggregate goes on without it.

use clap::builder::NonEmptyStringValueParser;
use idem_runtime::store::{EventStatus, Inspect};
use serde::Serialize;
use uuid::Uuid;

use super::words::line;
use super::{connect, find, is_held};
use crate::operate::Error;
use crate::operate::database::{Database, Job, Target};
use crate::operate::json::{document, wanted};
use crate::operate::words::{BAD, GOOD, styled};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem outbox dead 6f9619ff-8b86-4d01-b42d-00cf4fc964ff --reason 'the customer is gone'          what would be done
  idem outbox dead 6f9619ff-8b86-4d01-b42d-00cf4fc964ff --reason 'the customer is gone' --yes    do it

The next event of its aggregate comes then. `idem outbox show` keeps who and why as the last error, and
`idem outbox retry` takes it back. An event that a dispatcher holds is left to that.

Exit codes: 0 given up (or would be, without --yes), 1 refused, 2 there is no answer.";

/// The arguments of `idem outbox dead`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The event's id.
    event_id: Uuid,
    /// Why; kept with the event.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    reason: String,
    /// Who; kept with the event.
    #[arg(long, env = "USER", value_parser = NonEmptyStringValueParser::new())]
    by: String,
    /// Do it; without this, say what would be done and change nothing.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Report<'a> {
    done: bool,
    /// Why it was not given up, if so.
    refusal: Option<&'a str>,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let mut connection = connect(database).await?;
        let event = find(database, &mut connection, self.event_id).await?;
        let (mut refusal, about) = match &event {
            None => (Some("there is no such event"), self.event_id.to_string()),
            Some(event) if is_held(event) => (Some(HELD), line(event)),
            Some(event) => (refusal(event.status), line(event)),
        };
        if refusal.is_none() && self.yes {
            let error = format!("given up by {}: {}", self.by, self.reason);
            let buried = S::bury_event(&mut connection, self.event_id, &error).await;
            if !database.ask(buried)? {
                refusal = Some("the event changed meanwhile: look at it again");
            }
        }
        let text = match refusal {
            _ if wanted(self) => {
                document("outbox dead", Report { done: self.yes && refusal.is_none(), refusal })?
            }
            Some(refusal) => format!("{}: {refusal}: {about}\n", styled(BAD, "not given up")),
            None if self.yes => format!("{}: {about}\n", styled(GOOD, "given up")),
            None => format!("would be given up, --yes does it: {about}\n"),
        };
        let outcome = if refusal.is_some() { Outcome::Denied } else { Outcome::Clean };
        Ok(Answer { text, outcome })
    }
}

const HELD: &str = "a dispatcher holds it: wait for the end of its lease";

fn refusal(status: EventStatus) -> Option<&'static str> {
    match status {
        EventStatus::Pending => None,
        EventStatus::Delivered => Some("all its handlers have it"),
        EventStatus::Dead => Some("it is dead already"),
    }
}
