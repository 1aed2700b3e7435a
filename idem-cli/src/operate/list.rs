//! `idem list`: records in the order of their keys, page by page.

use std::fmt::Write as _;
use std::time::Duration;

use clap::ValueEnum;
use data_encoding::BASE64URL_NOPAD;
use idem_runtime::store::{Filter, Inspect};
use idem_runtime::{Reading, RecordKey, Status};
use serde::Serialize;

use super::Error;
use super::database::{Database, Job, Target};
use super::json::{RecordJson, document, wanted};
use super::span::{parse, relative};
use super::words::{FAINT, styled, table};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem list --stuck                           attempts that stopped without an outcome
  idem list --tenant-id acme --status failed
  idem list --route orders.create --older-than 7d --limit 20
  idem list --after W1wiYWNtZVwi...           the next page, by the cursor of the last one

Exit codes: 0 listed, also when nothing is, 2 there is no answer.";

/// The arguments of `idem list`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// This tenant alone.
    #[arg(long, value_name = "TENANT")]
    tenant_id: Option<String>,
    /// This user alone.
    #[arg(long, value_name = "USER")]
    user_id: Option<String>,
    /// This route alone.
    #[arg(long)]
    route: Option<String>,
    /// This status alone.
    #[arg(long, value_enum)]
    status: Option<StatusArg>,
    /// Only attempts whose lease is over, or whose outcome is marked unknown.
    #[arg(long)]
    stuck: bool,
    /// Only records whose life began at least so long ago.
    #[arg(long, value_name = "SPAN", value_parser = parse)]
    older_than: Option<Duration>,
    /// How many records at most.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Behind this cursor, which the page before gave.
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    #[command(flatten)]
    target: Target,
}

/// A status, as an argument.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum StatusArg {
    /// An attempt is at work, or was.
    Processing,
    /// It succeeded.
    Succeeded,
    /// It failed, or was released.
    Failed,
    /// Its life is over and marked so.
    Expired,
}

impl From<StatusArg> for Status {
    fn from(status: StatusArg) -> Self {
        match status {
            StatusArg::Processing => Self::Processing,
            StatusArg::Succeeded => Self::Succeeded,
            StatusArg::Failed => Self::Failed,
            StatusArg::Expired => Self::Expired,
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    records: Vec<RecordJson<'a>>,
    next_cursor: Option<String>,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let filter = Filter {
            tenant: self.tenant_id.clone(),
            user: self.user_id.clone(),
            route: self.route.clone(),
            status: self.status.map(Status::from),
            stuck: self.stuck,
            older_than: self.older_than,
        };
        let after = self.after.as_deref().map(from_cursor).transpose()?;
        let mut connection = database.records().await?;
        // One more than is shown tells whether there is another page.
        let listed = S::list(&mut connection, &filter, after.as_ref(), self.limit + 1).await;
        let mut readings = database.ask(listed)?;
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let more = readings.len() > limit;
        readings.truncate(limit);
        let next_cursor = readings.last().filter(|_| more).map(|reading| cursor(&reading.record.key));
        let text = if wanted(self) {
            document(
                "list",
                Report { records: readings.iter().map(RecordJson::from).collect(), next_cursor },
            )?
        } else {
            text(&readings, next_cursor.as_deref())
        };
        Ok(Answer { text, outcome: Outcome::Clean })
    }
}

fn text(readings: &[Reading], next_cursor: Option<&str>) -> String {
    let rows: Vec<[String; 8]> = readings
        .iter()
        .map(|Reading { record, now }| {
            let (key, scope) = (&record.key, record.key.scope());
            let mark = if record.outcome_unknown { " (unknown)" } else { "" };
            [
                scope.tenant().to_owned(),
                scope.user().to_owned(),
                key.route().as_str().to_owned(),
                key.key().as_str().to_owned(),
                format!("{}{mark}", record.status),
                record.token.attempt.to_string(),
                relative(*now, record.created_at),
                record.locked_until.map_or_else(|| "-".to_owned(), |end| relative(*now, end)),
            ]
        })
        .collect();
    let header = ["TENANT", "USER", "ROUTE", "KEY", "STATUS", "ATTEMPT", "BEGAN", "LEASE ENDS"];
    let mut text = table(header, &rows);
    if rows.is_empty() {
        text.push_str("no records\n");
    }
    if let Some(cursor) = next_cursor {
        let _ = writeln!(text, "{}", styled(FAINT, &format!("more: --after {cursor}")));
    }
    text
}

/// The key of the last record shown, in letters that no shell minds.
fn cursor(key: &RecordKey) -> String {
    let scope = key.scope();
    let parts = [scope.tenant(), scope.user(), key.route().as_str(), key.key().as_str()];
    BASE64URL_NOPAD.encode(serde_json::json!(parts).to_string().as_bytes())
}

fn from_cursor(cursor: &str) -> Result<RecordKey, Error> {
    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok();
    let parts = bytes.and_then(|bytes| serde_json::from_slice::<[String; 4]>(&bytes).ok());
    parts.and_then(|[tenant, user, route, key]| RecordKey::stored(tenant, user, route, key).ok()).ok_or_else(
        || Error::Usage("--after is no cursor of this command: copy it from the page before".to_owned()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_the_key_it_was_made_of_and_nothing_else_passes_for_one() {
        let key = RecordKey::stored("acme", "user 7", "outbox:a:1:b", "k\"1").unwrap();
        assert_eq!(from_cursor(&cursor(&key)).unwrap(), key);
        for not in ["", "!", "W10", "abc"] {
            assert!(from_cursor(not).is_err(), "{not}");
        }
    }
}
