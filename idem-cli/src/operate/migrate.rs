//! `idem migrate`: the tables.

use std::fmt::Write as _;

use idem_runtime::store::{ConnectionOf, Inspect};
use serde::Serialize;

use super::Error;
use super::database::{Database, Job, Target};
use super::json::{document, wanted};
use super::words::{BAD, GOOD, styled};
use crate::{Answer, Outcome};

const EXAMPLES: &str = "\
Examples:
  idem migrate                           create or update the tables
  idem migrate --check                   for CI: fail when a migration is missing
  idem migrate --print > idempotency.sql for those who run their own migrations

A SQLite file is created only when the URL ends in ?mode=rwc.

Exit codes: 0 done, 1 a migration is missing, 2 there is no answer.";

/// The arguments of `idem migrate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print the SQL for the kind of database in the URL; nothing is opened.
    #[arg(long, conflicts_with_all = ["check", "json"])]
    print: bool,
    /// Say which migrations are missing and change nothing.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(Serialize)]
struct Report {
    /// Applied by this run.
    applied: Vec<i64>,
    /// Still missing.
    pending: Vec<i64>,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        if self.print {
            return Ok(Answer { text: script::<S>(), outcome: Outcome::Clean });
        }
        let mut connection = database.connection().await?;
        let before = pending::<S>(database, &mut connection).await?;
        drop(connection);
        let (applied, pending) = if self.check {
            (Vec::new(), before)
        } else {
            let pool = database.pool().await?;
            database.ask(S::migrate(&pool).await)?;
            (before, Vec::new())
        };
        let outcome = if pending.is_empty() { Outcome::Clean } else { Outcome::Denied };
        let text = match (&pending[..], &applied[..]) {
            _ if wanted(self) => document("migrate", Report { applied, pending })?,
            ([], []) => format!("{}\n", styled(GOOD, "the tables are up to date")),
            ([], applied) => format!("{} {}\n", styled(GOOD, "applied"), names::<S>(applied)),
            (pending, _) => format!("{} {}\n", styled(BAD, "missing"), names::<S>(pending)),
        };
        Ok(Answer { text, outcome })
    }
}

/// The migrations that are missing; none when somebody else made the tables and all of them are there.
pub(super) async fn pending<S: Inspect>(
    database: &Database<'_, S>,
    conn: &mut ConnectionOf<S>,
) -> Result<Vec<i64>, Error> {
    let applied = database.ask(S::applied(conn).await)?;
    if applied.is_none()
        && database.ask(S::has_schema(conn).await)?
        && database.ask(S::missing(conn).await)?.is_empty()
    {
        return Ok(Vec::new());
    }
    let applied = applied.unwrap_or_default();
    let versions = S::migrations().iter().map(|(version, ..)| *version);
    Ok(versions.filter(|version| !applied.contains(version)).collect())
}

fn script<S: Inspect>() -> String {
    S::migrations().iter().fold(String::new(), |mut text, (version, name, sql)| {
        let _ = writeln!(text, "-- {version:04} {name}\n\n{sql}");
        text
    })
}

/// `0001 idempotency records, ...`.
pub(super) fn names<S: Inspect>(versions: &[i64]) -> String {
    let all = S::migrations().iter().filter(|(version, ..)| versions.contains(version));
    all.map(|(version, name, _)| format!("{version:04} {name}")).collect::<Vec<_>>().join(", ")
}
