//! `idem outbox stats`: how many events there are of each type, version and status, and how old the oldest is.

use std::fmt::Write as _;

use idem_runtime::store::{EventGroup, EventStatus, Inspect};
use serde::Serialize;

use super::connect;
use crate::operate::Error;
use crate::operate::database::{Database, Job, Target};
use crate::operate::json::{document, wanted};
use crate::operate::span::{millis_to, relative};
use crate::operate::words::{BAD, styled, table};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem outbox stats
  idem outbox stats --json | jq .totals.dead

Reads the whole table.

Exit codes: 0 counted, 1 some events are dead, 2 there is no answer.";

/// The arguments of `idem outbox stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Report<'a> {
    groups: Vec<GroupJson<'a>>,
    totals: Totals,
}

#[derive(Serialize)]
struct GroupJson<'a> {
    event_type: &'a str,
    event_version: i64,
    status: &'a str,
    events: i64,
    oldest_age_ms: i64,
}

/// All events by their status.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Totals {
    pending: i64,
    delivered: i64,
    pub(super) dead: i64,
}

impl Totals {
    pub(super) fn of(groups: &[EventGroup]) -> Self {
        let count = |status: EventStatus| {
            groups.iter().filter(|group| group.status == status.as_str()).map(|group| group.events).sum()
        };
        Self {
            pending: count(EventStatus::Pending),
            delivered: count(EventStatus::Delivered),
            dead: count(EventStatus::Dead),
        }
    }
}

impl<'a> From<&'a EventGroup> for GroupJson<'a> {
    fn from(group: &'a EventGroup) -> Self {
        Self {
            event_type: &group.event_type,
            event_version: group.version,
            status: &group.status,
            events: group.events,
            oldest_age_ms: millis_to(group.oldest, group.now),
        }
    }
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let (text, totals) = count(database, wanted(self)).await?;
        let outcome = if totals.dead == 0 { Outcome::Clean } else { Outcome::Denied };
        Ok(Answer { text, outcome })
    }
}

/// The counts as they are printed, and their sums.
pub(super) async fn count<S: Inspect>(
    database: &Database<'_, S>,
    json: bool,
) -> Result<(String, Totals), Error> {
    let mut connection = connect(database).await?;
    let groups = database.ask(S::event_stats(&mut connection).await)?;
    let totals = Totals::of(&groups);
    let text = if json {
        document("outbox stats", Report { groups: groups.iter().map(GroupJson::from).collect(), totals })?
    } else {
        text(&groups, totals)
    };
    Ok((text, totals))
}

fn text(groups: &[EventGroup], totals: Totals) -> String {
    let rows: Vec<[String; 5]> = groups
        .iter()
        .map(|group| {
            [
                group.event_type.clone(),
                group.version.to_string(),
                group.status.clone(),
                group.events.to_string(),
                relative(group.now, group.oldest),
            ]
        })
        .collect();
    let mut text = table(["TYPE", "VERSION", "STATUS", "EVENTS", "OLDEST"], &rows);
    let Totals { pending, delivered, dead } = totals;
    let _ = writeln!(text, "{pending} pending, {delivered} delivered");
    if dead > 0 {
        let dead = format!("{dead} dead: `idem outbox list --status dead` names them");
        let _ = writeln!(text, "{}", styled(BAD, &dead));
    }
    text
}
