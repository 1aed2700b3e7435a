//! `idem outbox retry`: makes dead events due again, one by its id or all of a type.

use clap::ArgGroup;
use idem_runtime::store::{ConnectionOf, EventFilter, EventStatus, Inspect};
use serde::Serialize;
use uuid::Uuid;

use super::words::line;
use super::{connect, find};
use crate::operate::Error;
use crate::operate::database::{Database, Job, Target};
use crate::operate::json::{document, wanted};
use crate::operate::words::{BAD, GOOD, styled};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem outbox retry 6f9619ff-8b86-4d01-b42d-00cf4fc964ff          what would be done
  idem outbox retry 6f9619ff-8b86-4d01-b42d-00cf4fc964ff --yes    do it
  idem outbox retry --type order.created --all --yes              all dead events of a type

Handlers that have the event already do not get it again. Its successors in its aggregate were delivered
meanwhile, so it comes out of their order. A handler with `retry_failed = false` refuses it again, unless its
record is released first: `idem release --route outbox:<type>:<version>:<handler key> --idempotency-key
<event id>`, with tenant and user of the event.

Exit codes: 0 done (or would be, without --yes), 1 there is no such dead event, 2 there is no answer.";

/// How many events are looked up at once.
const PAGE: u32 = 500;

/// The arguments of `idem outbox retry`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group(ArgGroup::new("which").required(true).args(["event_id", "event_type"])))]
pub struct Args {
    /// The event's id.
    event_id: Option<Uuid>,
    /// The type of the events; only together with --all.
    #[arg(long = "type", value_name = "TYPE", requires = "all")]
    event_type: Option<String>,
    /// Each dead event of the type.
    #[arg(long, requires = "event_type", conflicts_with = "event_id")]
    all: bool,
    /// Do it; without this, say what would be done and change nothing.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Report<'a> {
    done: bool,
    events: u64,
    /// Why nothing was done, if so.
    refusal: Option<&'a str>,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let mut connection = connect(database).await?;
        match (self.event_id, &self.event_type) {
            (Some(id), _) => self.one(database, &mut connection, id).await,
            (None, event_type) => self.all(database, &mut connection, event_type.as_deref()).await,
        }
    }
}

impl Args {
    async fn one<S: Inspect>(
        &self,
        database: &Database<'_, S>,
        connection: &mut ConnectionOf<S>,
        id: Uuid,
    ) -> Result<Answer, Error> {
        let event = find(database, connection, id).await?;
        let (mut refusal, about) = match &event {
            None => (Some("there is no such event"), id.to_string()),
            Some(event) => (refusal(event.status), line(event)),
        };
        if refusal.is_none() && self.yes && !database.ask(S::retry_event(connection, id).await)? {
            refusal = Some("the event changed meanwhile: look at it again");
        }
        let text = match refusal {
            _ if wanted(self) => self.json(u64::from(refusal.is_none()), refusal)?,
            Some(refusal) => format!("{}: {refusal}: {about}\n", styled(BAD, "not retried")),
            None if self.yes => format!("{}: {about}\n", styled(GOOD, "due now")),
            None => format!("would be due now, --yes does it: {about}\n"),
        };
        let outcome = if refusal.is_some() { Outcome::Denied } else { Outcome::Clean };
        Ok(Answer { text, outcome })
    }

    async fn all<S: Inspect>(
        &self,
        database: &Database<'_, S>,
        connection: &mut ConnectionOf<S>,
        event_type: Option<&str>,
    ) -> Result<Answer, Error> {
        let event_type = event_type.map(str::to_owned);
        let mut filter =
            EventFilter { status: Some(EventStatus::Dead), event_type, ..EventFilter::default() };
        let mut events = 0;
        loop {
            let page = database.ask(S::events(connection, &filter, PAGE).await)?;
            let Some(last) = page.last() else { break };
            // Behind the last one: what dies again meanwhile is not retried for ever.
            filter.after = Some(last.sequence);
            for event in &page {
                let retried = !self.yes || database.ask(S::retry_event(connection, event.event.id).await)?;
                events += u64::from(retried);
            }
        }
        let text = if wanted(self) {
            self.json(events, None)?
        } else if self.yes {
            format!("{events} events are due now\n")
        } else {
            format!("{events} events are dead: --yes makes them due\n")
        };
        Ok(Answer { text, outcome: Outcome::Clean })
    }

    fn json(&self, events: u64, refusal: Option<&str>) -> Result<String, Error> {
        document("outbox retry", Report { done: self.yes && refusal.is_none(), events, refusal })
    }
}

fn refusal(status: EventStatus) -> Option<&'static str> {
    match status {
        EventStatus::Dead => None,
        EventStatus::Pending => Some("it is pending, and comes by itself"),
        EventStatus::Delivered => Some("all its handlers have it"),
    }
}
