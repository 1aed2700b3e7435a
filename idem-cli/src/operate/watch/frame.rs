//! What one frame shows, as text and as a line of JSON.

use std::fmt::Write as _;

use idem_runtime::store::Group;
use idem_runtime::{Status, Timestamp};
use serde::Serialize;

use super::super::Error;
use super::super::json::line;
use super::super::span::{millis_to, relative, rfc3339};
use super::super::words::{BAD, FAINT, styled, table};

/// The lines around the routes: title, header, totals, and the one that says what is left out.
const AROUND: usize = 4;

/// The records at one moment.
#[derive(Debug)]
pub(super) struct Frame {
    now: Timestamp,
    routes: Vec<Counts>,
}

/// The records of one route.
#[derive(Debug, Default, Clone)]
struct Counts {
    route: String,
    in_flight: i64,
    stuck: i64,
    succeeded: i64,
    failed: i64,
    expired: i64,
    /// When the oldest life in process began.
    oldest: Option<Timestamp>,
    first_lease_end: Option<Timestamp>,
}

#[derive(Serialize)]
struct Report<'a> {
    now: String,
    routes: Vec<RouteJson<'a>>,
    totals: Totals,
}

#[derive(Serialize)]
struct RouteJson<'a> {
    route: &'a str,
    in_flight: i64,
    stuck: i64,
    succeeded: i64,
    failed: i64,
    expired: i64,
    oldest_age_ms: Option<i64>,
    first_lease_left_ms: Option<i64>,
}

#[derive(Debug, Default, Serialize)]
struct Totals {
    records: i64,
    in_flight: i64,
    stuck: i64,
}

impl Frame {
    /// The frame of `groups`, which are in the order of their routes.
    pub(super) fn new(groups: &[Group], now: Timestamp) -> Self {
        let mut routes: Vec<Counts> = Vec::new();
        for group in groups {
            if routes.last().is_none_or(|counts| counts.route != group.route) {
                routes.push(Counts { route: group.route.clone(), ..Counts::default() });
            }
            if let Some(counts) = routes.last_mut() {
                counts.add(group);
            }
        }
        Self { now, routes }
    }

    /// How many attempts stopped without an outcome.
    pub(super) fn stuck(&self) -> i64 {
        self.totals().stuck
    }

    fn totals(&self) -> Totals {
        self.routes.iter().fold(Totals::default(), |sum, counts| Totals {
            records: sum.records + counts.records(),
            in_flight: sum.in_flight + counts.in_flight,
            stuck: sum.stuck + counts.stuck,
        })
    }

    /// One line of JSON.
    pub(super) fn json(&self) -> Result<String, Error> {
        let routes = self.routes.iter().map(|counts| RouteJson {
            route: &counts.route,
            in_flight: counts.in_flight,
            stuck: counts.stuck,
            succeeded: counts.succeeded,
            failed: counts.failed,
            expired: counts.expired,
            oldest_age_ms: counts.oldest.map(|began| millis_to(began, self.now)),
            first_lease_left_ms: counts.first_lease_end.map(|end| millis_to(self.now, end)),
        });
        line("watch", Report { now: rfc3339(self.now), routes: routes.collect(), totals: self.totals() })
    }

    /// The frame for people, in at most `height` lines; what is stuck or at work is then left out last.
    pub(super) fn text(&self, title: &str, height: Option<usize>) -> String {
        let mut shown = self.routes.clone();
        let room = height.map_or(usize::MAX, |height| height.saturating_sub(AROUND));
        if shown.len() > room {
            shown.sort_by_key(|counts| (counts.stuck == 0, counts.in_flight == 0));
            shown.truncate(room);
        }
        let mut text = format!("{}\n", styled(FAINT, &format!("{}  {title}", rfc3339(self.now))));
        let rows: Vec<[String; 8]> = shown.iter().map(|counts| counts.row(self.now)).collect();
        let header = [
            "ROUTE",
            "IN FLIGHT",
            "STUCK",
            "SUCCEEDED",
            "FAILED",
            "EXPIRED",
            "OLDEST BEGAN",
            "FIRST LEASE ENDS",
        ];
        text.push_str(&table(header, &rows));
        let hidden = self.routes.len() - shown.len();
        if hidden > 0 {
            let _ = writeln!(text, "and {hidden} more routes");
        }
        let Totals { records, in_flight, stuck } = self.totals();
        let _ = write!(text, "{records} records, {in_flight} in flight");
        if stuck > 0 {
            let _ =
                write!(text, ", {}: `idem list --stuck` names them", styled(BAD, &format!("{stuck} stuck")));
        }
        text.push('\n');
        text
    }
}

impl Counts {
    fn add(&mut self, group: &Group) {
        if group.status == Status::Processing.as_str() {
            self.in_flight = group.records - group.stuck;
            self.stuck = group.stuck;
            self.oldest = Some(group.oldest);
            self.first_lease_end = group.first_lease_end;
        } else if group.status == Status::Succeeded.as_str() {
            self.succeeded = group.records;
        } else if group.status == Status::Failed.as_str() {
            self.failed = group.records;
        } else {
            self.expired = group.records;
        }
    }

    fn records(&self) -> i64 {
        self.in_flight + self.stuck + self.succeeded + self.failed + self.expired
    }

    fn row(&self, now: Timestamp) -> [String; 8] {
        let moment =
            |moment: Option<Timestamp>| moment.map_or_else(|| "-".to_owned(), |at| relative(now, at));
        [
            self.route.clone(),
            self.in_flight.to_string(),
            self.stuck.to_string(),
            self.succeeded.to_string(),
            self.failed.to_string(),
            self.expired.to_string(),
            moment(self.oldest),
            moment(self.first_lease_end),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn group(route: &str, status: Status, records: i64, stuck: i64) -> Group {
        let lease = (status == Status::Processing).then(|| at(130));
        let status = status.as_str().to_owned();
        let (oldest, newest, now) = (at(40), at(90), at(100));
        Group { route: route.to_owned(), status, records, stuck, oldest, newest, first_lease_end: lease, now }
    }

    fn frame() -> Frame {
        let groups = [
            group("orders.cancel", Status::Succeeded, 7, 0),
            group("orders.create", Status::Expired, 1, 0),
            group("orders.create", Status::Failed, 2, 0),
            group("orders.create", Status::Processing, 5, 0),
            group("payments.charge", Status::Processing, 3, 2),
        ];
        Frame::new(&groups, at(100))
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_frame_shows_each_route_in_a_line() {
        let wanted = "\
1970-01-01T00:01:40.000000Z  sqlite:shop
ROUTE            IN FLIGHT  STUCK  SUCCEEDED  FAILED  EXPIRED  OLDEST BEGAN  FIRST LEASE ENDS
orders.cancel    0          0      7          0       0        -             -
orders.create    5          0      0          2       1        1m ago        in 30s
payments.charge  1          2      0          0       0        1m ago        in 30s
18 records, 6 in flight, 2 stuck: `idem list --stuck` names them
";
        assert_eq!(plain(&frame().text("sqlite:shop", None)), wanted);
        let empty = Frame::new(&[], at(0)).text("x", Some(24));
        assert_eq!(plain(&empty), "1970-01-01T00:00:00.000000Z  x\n0 records, 0 in flight\n");
    }

    #[test]
    fn a_frame_that_is_too_high_keeps_what_is_stuck_and_then_what_is_at_work() {
        assert_eq!(frame().text("x", Some(7)).lines().count(), 6, "all routes fit");
        for (height, first) in [(6, "orders.create"), (5, "and 2 more")] {
            let text = plain(&frame().text("x", Some(height)));
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines.len(), height, "{text}");
            assert!(lines[2].starts_with("payments.charge") && lines[3].starts_with(first), "{text}");
        }
    }

    #[test]
    fn the_json_of_a_frame_is_one_line() {
        let json = Frame::new(&[group("a\nb", Status::Processing, 3, 2)], at(100)).json().unwrap();
        assert_eq!(
            json,
            "{\"version\":1,\"command\":\"watch\",\"now\":\"1970-01-01T00:01:40.000000Z\",\"routes\":[{\
             \"route\":\"a\\nb\",\"in_flight\":1,\"stuck\":2,\"succeeded\":0,\"failed\":0,\"expired\":0,\
             \"oldest_age_ms\":60000,\"first_lease_left_ms\":30000}],\
             \"totals\":{\"records\":3,\"in_flight\":1,\"stuck\":2}}\n"
        );
    }
}
