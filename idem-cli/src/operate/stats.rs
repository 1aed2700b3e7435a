//! `idem stats`: how many records each route has, and how old they are.

use std::fmt::Write as _;

use idem_runtime::store::{Group, Inspect};
use serde::Serialize;

use super::Error;
use super::database::{Database, Job, Target};
use super::json::{document, wanted};
use super::span::{millis_to, relative};
use super::words::{BAD, styled, table};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem stats
  idem stats --json | jq .totals.stuck

Reads the whole table. A record does not count its replays: the metric idem_requests_total does, and docs/cli.md
has the query for their share.

Exit codes: 0 counted, 1 some attempts stopped without an outcome, 2 there is no answer.";

/// The arguments of `idem stats`.
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
    route: &'a str,
    status: &'a str,
    records: i64,
    stuck: i64,
    oldest_age_ms: i64,
    unchanged_ms: i64,
    first_lease_left_ms: Option<i64>,
}

#[derive(Serialize)]
struct Totals {
    records: i64,
    stuck: i64,
}

impl<'a> From<&'a Group> for GroupJson<'a> {
    fn from(group: &'a Group) -> Self {
        Self {
            route: &group.route,
            status: &group.status,
            records: group.records,
            stuck: group.stuck,
            oldest_age_ms: millis_to(group.oldest, group.now),
            unchanged_ms: millis_to(group.newest, group.now),
            first_lease_left_ms: group.first_lease_end.map(|end| millis_to(group.now, end)),
        }
    }
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let mut connection = database.records().await?;
        let groups = database.ask(S::stats(&mut connection).await)?;
        let totals = Totals {
            records: groups.iter().map(|group| group.records).sum(),
            stuck: groups.iter().map(|group| group.stuck).sum(),
        };
        let outcome = if totals.stuck == 0 { Outcome::Clean } else { Outcome::Denied };
        let text = if wanted(self) {
            document("stats", Report { groups: groups.iter().map(GroupJson::from).collect(), totals })?
        } else {
            text(&groups, &totals)
        };
        Ok(Answer { text, outcome })
    }
}

fn text(groups: &[Group], totals: &Totals) -> String {
    let rows: Vec<[String; 7]> = groups
        .iter()
        .map(|group| {
            [
                group.route.clone(),
                group.status.clone(),
                group.records.to_string(),
                group.stuck.to_string(),
                relative(group.now, group.oldest),
                relative(group.now, group.newest),
                group.first_lease_end.map_or_else(|| "-".to_owned(), |end| relative(group.now, end)),
            ]
        })
        .collect();
    let header = ["ROUTE", "STATUS", "RECORDS", "STUCK", "OLDEST", "LAST CHANGE", "FIRST LEASE ENDS"];
    let mut text = table(header, &rows);
    let _ = writeln!(text, "{} records", totals.records);
    if totals.stuck > 0 {
        let stuck = format!("{} stuck: `idem list --stuck` names them", totals.stuck);
        let _ = writeln!(text, "{}", styled(BAD, &stuck));
    }
    text
}
