//! `idem doctor`: what in a database would break a promise, or soon will.

mod nodes;

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use idem_runtime::Timestamp;
use idem_runtime::store::{Capacity, ConnectionOf, Due, Inspect};
use serde::Serialize;

use super::Error;
use super::database::{Database, DatabaseUrl, Job, Target};
use super::json::{document, wanted};
use super::migrate::{names, pending};
use super::outbox;
use super::span::{parse, words};
use super::words::{BAD, FAINT, GOOD, styled};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem doctor
  idem doctor --pool-size 20 --instances 8    do all pools together fit into the server?
  idem doctor --node mysql://shop@node2/shop --node mysql://shop@node3/shop    do the nodes of a cluster agree?
  idem doctor --json | jq '.findings[].message'

Settings are those of the user in the URL, so give that of the application. What a connection sets for itself,
such as `synchronous` on SQLite, is looked at by the guard when it is built.

Exit codes: 0 all is well, 1 something was found, 2 there is no answer.";

/// What a clock may be off by without a word.
const SKEW: i64 = 1_000_000;

/// The arguments of `idem doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How long records are kept after their life.
    #[arg(long, value_name = "SPAN", value_parser = parse, default_value = "7d")]
    retention: Duration,
    /// How many connections the pool of one instance has at most.
    #[arg(long, value_name = "CONNECTIONS")]
    pool_size: Option<u32>,
    /// How many instances of the application there are.
    #[arg(long, default_value_t = 1)]
    instances: u32,
    /// Another node of the same cluster, whose settings and clock are looked at too; may be repeated.
    #[arg(long = "node", value_name = "URL", hide_env_values = true)]
    nodes: Vec<DatabaseUrl>,
    /// The shortest lease of the application: the clocks of nodes may differ by a tenth of it.
    #[arg(long, value_name = "SPAN", value_parser = parse, default_value = "30s")]
    lease: Duration,
    #[command(flatten)]
    target: Target,
}

/// One thing that was found.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    check: &'static str,
    message: String,
}

#[derive(Serialize)]
struct Report {
    findings: Vec<Finding>,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let mut connection = database.connection().await?;
        let mut findings = self.examine(database, &mut connection).await?;
        findings.extend(self.compare_nodes(database, &mut connection).await?);
        let outcome = if findings.is_empty() { Outcome::Clean } else { Outcome::Denied };
        let text = if wanted(self) { document("doctor", Report { findings })? } else { text(&findings) };
        Ok(Answer { text, outcome })
    }
}

impl Args {
    async fn examine<S: Inspect>(
        &self,
        database: &Database<'_, S>,
        conn: &mut ConnectionOf<S>,
    ) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        let mut found = |check, message| findings.push(Finding { check, message });
        let pending = pending::<S>(database, conn).await?;
        if !pending.is_empty() {
            found("schema", format!("missing {}: run `idem migrate`", names::<S>(&pending)));
        }
        let known = S::migrations().last().map_or(0, |(version, ..)| *version);
        let newest = database.ask(S::applied(conn).await)?.and_then(|applied| applied.last().copied());
        if let Some(newest) = newest.filter(|newest| *newest > known) {
            found("schema", format!("migration {newest:04} is of a newer version: update this program"));
        }
        let has_schema = database.ask(S::has_schema(conn).await)?;
        if has_schema {
            for name in database.ask(S::missing(conn).await)? {
                found("schema", format!("{name} is missing or invalid: `idem migrate --print` shows it"));
            }
            let due = database.ask(S::due(conn, Due::Purge(self.retention)).await)?;
            if due > 0 {
                let (age, due) = (words(self.retention), due.to_string());
                found("retention", format!("{due} records ended {age} ago or earlier: run `idem purge`"));
            }
        } else if pending.is_empty() {
            found("schema", "a column of idempotency_records is missing".to_owned());
        }
        for message in outbox::check(database, conn).await? {
            found("outbox", message);
        }
        for setting in database.ask(S::unsafe_settings(conn).await)? {
            found("settings", format!("an acknowledged answer could be lost: {setting}"));
        }
        let (before, now) = (local(), database.ask(S::now(conn).await)?);
        if let Some(message) = skew(before, now, local()) {
            found("clock", message);
        }
        let capacity = database.ask(S::capacity(conn).await)?;
        for message in self.pool(S::SINGLE_WRITER, capacity) {
            found("pool", message);
        }
        Ok(findings)
    }

    fn pool(&self, single_writer: bool, capacity: Option<Capacity>) -> Vec<String> {
        let mut messages = Vec::new();
        if self.pool_size.is_some_and(|size| size < 2) && !single_writer {
            messages.push(
                "a pool of one connection cannot renew a lease while a transaction is open: give it two"
                    .to_owned(),
            );
        }
        let Some(Capacity { limit, open }) = capacity else { return messages };
        let wanted = i64::from(self.pool_size.unwrap_or(0)) * i64::from(self.instances);
        if wanted > limit {
            messages.push(format!("the pools together open {wanted} connections, the server allows {limit}"));
        }
        if open * 10 >= limit * 9 {
            messages.push(format!("{open} of {limit} connections are open: the next pool may find none"));
        }
        messages
    }
}

/// The clock of this machine.
fn local() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// How far the database's clock lies outside of the time in which it was asked.
fn skew(before: Timestamp, database: Timestamp, after: Timestamp) -> Option<String> {
    let [before, database, after] = [before, database, after].map(Timestamp::as_micros);
    let (off, way) =
        if database < before { (before - database, "behind") } else { (database - after, "ahead of") };
    (off > SKEW).then(|| {
        let off = words(Duration::from_micros(off.unsigned_abs()));
        format!(
            "the database's clock is {off} {way} this machine's: leases are safe, as all times are the database's, \
             but logs and Idempotency-Key-Expires disagree"
        )
    })
}

fn text(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return format!("{}\n", styled(GOOD, "nothing found"));
    }
    findings.iter().fold(String::new(), |mut text, finding| {
        let check = styled(FAINT, finding.check);
        let _ = writeln!(text, "{} {check}: {}", styled(BAD, "found"), finding.message);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_clock_is_off_only_by_what_the_question_cannot_have_taken() {
        assert_eq!(skew(at(10), at(14), at(20)), None);
        assert_eq!(skew(at(10), at(21), at(20)), None);
        assert!(skew(at(10), at(25), at(20)).is_some_and(|text| text.contains("5s ahead of")));
        assert!(skew(at(10), at(2), at(20)).is_some_and(|text| text.contains("8s behind")));
    }

    #[test]
    fn pools_that_do_not_fit_together_are_found() {
        let args = |pool_size: u32, instances: u32| Args {
            retention: Duration::ZERO,
            pool_size: Some(pool_size),
            instances,
            nodes: Vec::new(),
            lease: Duration::ZERO,
            target: Target::of("sqlite:"),
        };
        let server = Some(Capacity { limit: 100, open: 5 });
        assert!(args(20, 5).pool(false, server).is_empty());
        assert_eq!(args(20, 6).pool(false, server).len(), 1);
        assert_eq!(args(1, 1).pool(false, server).len(), 1);
        assert!(args(1, 1).pool(true, None).is_empty());
        assert_eq!(args(2, 1).pool(false, Some(Capacity { limit: 100, open: 90 })).len(), 1);
    }
}
