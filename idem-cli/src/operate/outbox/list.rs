//! `idem outbox list`: events in the order of their numbers, page by page.

use std::fmt::Write as _;

use clap::ValueEnum;
use idem_runtime::store::{EventFilter, EventStatus, Inspect, StoredEvent};
use serde::Serialize;

use super::json::EventJson;
use super::words::{due, short_error};
use super::{connect, stats};
use crate::operate::Error;
use crate::operate::database::{Database, Job, Target};
use crate::operate::json::{document, wanted};
use crate::operate::span::relative;
use crate::operate::words::{FAINT, styled, table};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem outbox list --status dead              what was given up, with the beginning of the last error
  idem outbox list --type order.created --tenant-id acme --limit 20
  idem outbox list --after 4711               the next page, by the last number of the one before
  idem outbox list --summary                  counts only, as `idem outbox stats`

Exit codes: 0 listed, also when nothing is, 2 there is no answer.";

/// The arguments of `idem outbox list`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// This status alone.
    #[arg(long, value_enum)]
    status: Option<StatusArg>,
    /// This type alone.
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<String>,
    /// This tenant alone.
    #[arg(long, value_name = "TENANT")]
    tenant_id: Option<String>,
    /// How many events at most.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Behind this number, which the page before gave.
    #[arg(long, value_name = "NUMBER")]
    after: Option<i64>,
    /// Count all events by type, version and status instead.
    #[arg(long, conflicts_with_all = ["status", "event_type", "tenant_id", "limit", "after"])]
    summary: bool,
    #[command(flatten)]
    target: Target,
}

/// A status, as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum StatusArg {
    /// Not yet with all its handlers.
    Pending,
    /// All handlers have it.
    Delivered,
    /// Given up.
    Dead,
}

impl From<StatusArg> for EventStatus {
    fn from(status: StatusArg) -> Self {
        match status {
            StatusArg::Pending => Self::Pending,
            StatusArg::Delivered => Self::Delivered,
            StatusArg::Dead => Self::Dead,
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    events: Vec<EventJson<'a>>,
    next_cursor: Option<i64>,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        if self.summary {
            let text = stats::count(database, wanted(self)).await?.0;
            return Ok(Answer { text, outcome: Outcome::Clean });
        }
        let filter = EventFilter {
            status: self.status.map(EventStatus::from),
            event_type: self.event_type.clone(),
            tenant: self.tenant_id.clone(),
            after: self.after,
        };
        let mut connection = connect(database).await?;
        // One more than is shown tells whether there is another page.
        let mut events = database.ask(S::events(&mut connection, &filter, self.limit + 1).await)?;
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let more = events.len() > limit;
        events.truncate(limit);
        let next_cursor = events.last().filter(|_| more).map(|event| event.sequence);
        let text = if wanted(self) {
            document(
                "outbox list",
                Report { events: events.iter().map(EventJson::from).collect(), next_cursor },
            )?
        } else {
            text(&events, next_cursor)
        };
        Ok(Answer { text, outcome: Outcome::Clean })
    }
}

fn text(events: &[StoredEvent], next_cursor: Option<i64>) -> String {
    let rows: Vec<[String; 9]> = events
        .iter()
        .map(|stored| {
            let event = &stored.event;
            [
                stored.sequence.to_string(),
                event.id.to_string(),
                format!("{} v{}", event.event_type, event.version),
                event.tenant.clone(),
                event.aggregate.clone().unwrap_or_else(|| "-".to_owned()),
                stored.status.as_str().to_owned(),
                due(stored),
                relative(stored.now, stored.created_at),
                short_error(stored),
            ]
        })
        .collect();
    let header =
        ["NUMBER", "EVENT", "TYPE", "TENANT", "AGGREGATE", "STATUS", "DUE", "PUBLISHED", "LAST ERROR"];
    let mut text = table(header, &rows);
    if rows.is_empty() {
        text.push_str("no events\n");
    }
    if let Some(cursor) = next_cursor {
        let _ = writeln!(text, "{}", styled(FAINT, &format!("more: --after {cursor}")));
    }
    text
}
