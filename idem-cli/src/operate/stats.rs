//! `idem stats`: how many records each route has, how old they are, and how many answers were replays.

use std::fmt::Write as _;

use idem_runtime::store::{Group, Inspect, Traffic};
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
  idem stats --days 1                          the answers of today alone
  idem stats --json | jq .totals.stuck

Reads the whole table of records. A record does not count its replays: guards whose maintenance runs do, and write the
numbers down once a minute, by days of UTC. What a killed process had not yet written is lost.

Exit codes: 0 counted, 1 some attempts stopped without an outcome, 2 there is no answer.";

/// The arguments of `idem stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The answers of how many days to sum up, today included.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=30))]
    days: u32,
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Report<'a> {
    groups: Vec<GroupJson<'a>>,
    totals: Totals,
    traffic: TrafficJson<'a>,
}

/// Answers, not records; empty when nobody has counted.
#[derive(Serialize)]
struct TrafficJson<'a> {
    days: u32,
    routes: Vec<RouteJson<'a>>,
    replay_ratio: Option<f64>,
}

#[derive(Serialize)]
struct RouteJson<'a> {
    route: &'a str,
    executed: u64,
    replayed: u64,
    replay_ratio: Option<f64>,
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

impl<'a> TrafficJson<'a> {
    fn new(days: u32, traffic: &'a [Traffic]) -> Self {
        let route = |route: &'a Traffic| RouteJson {
            route: &route.route,
            executed: route.executed,
            replayed: route.replayed,
            replay_ratio: ratio(std::slice::from_ref(route)),
        };
        Self { days, routes: traffic.iter().map(route).collect(), replay_ratio: ratio(traffic) }
    }
}

/// The share of replays in all answers, to four digits; of no answers there is none.
#[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
fn ratio(traffic: &[Traffic]) -> Option<f64> {
    let replayed: u64 = traffic.iter().map(|route| route.replayed).sum();
    let all = replayed + traffic.iter().map(|route| route.executed).sum::<u64>();
    (all > 0).then(|| (replayed as f64 / all as f64 * 10_000.0).round() / 10_000.0)
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let mut connection = database.records().await?;
        let groups = database.ask(S::stats(&mut connection).await)?;
        let traffic = database.ask(S::traffic(&mut connection, self.days).await)?;
        let totals = Totals {
            records: groups.iter().map(|group| group.records).sum(),
            stuck: groups.iter().map(|group| group.stuck).sum(),
        };
        let outcome = if totals.stuck == 0 { Outcome::Clean } else { Outcome::Denied };
        let text = if wanted(self) {
            let groups = groups.iter().map(GroupJson::from).collect();
            document("stats", Report { groups, totals, traffic: TrafficJson::new(self.days, &traffic) })?
        } else {
            text(&groups, &totals) + &answers(self.days, &traffic)
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

/// What the routes answered; a share of nothing is no zero.
fn answers(days: u32, traffic: &[Traffic]) -> String {
    let span = if days == 1 { "today".to_owned() } else { format!("in the last {days} days") };
    if ratio(traffic).is_none() {
        return format!("no answers were counted {span}: guards count while their maintenance runs\n");
    }
    let percent = |traffic: &[Traffic]| {
        ratio(traffic).map_or_else(|| "-".to_owned(), |ratio| format!("{:.2} %", ratio * 100.0))
    };
    let rows: Vec<[String; 4]> = traffic
        .iter()
        .map(|route| {
            let ratio = percent(std::slice::from_ref(route));
            [route.route.clone(), route.executed.to_string(), route.replayed.to_string(), ratio]
        })
        .collect();
    let table = table(["ROUTE", "RAN", "REPLAYED", "REPLAY RATIO"], &rows);
    format!("\nanswers {span}\n{table}{} of all answers were replays\n", percent(traffic))
}
