//! The arguments of `idem audit`.

use std::path::{Path, PathBuf};

use time::macros::format_description;
use time::{Date, OffsetDateTime};

use crate::audit::rules::{Denied, Rule};

const EXAMPLES: &str = "\
Examples:
  idem audit                                   list the write routes of the crate or workspace here
  idem audit services/shop --deny undeclared   fail when one of them has no stance
  idem audit . --deny all --json > audit.json  everything counts, for a machine
  idem audit . --write-baseline audit.baseline.json
  idem audit . --baseline audit.baseline.json  only what is new since then fails
  idem audit --explain IDEM001                 what a rule finds, and the fix

Exit codes: 0 nothing denied was found, 1 something was, 2 the question could not be answered.
An exemption past its `until` date fails always.";

/// List the write routes of an axum application and what each says about a retry.
///
/// Reads the source only: nothing is compiled, and the application need not use idem.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A folder with a Cargo.toml (a crate or a workspace), or one Rust file [default: the current folder].
    path: Option<PathBuf>,
    /// Print JSON instead of a table; docs/audit.md describes its shape.
    #[arg(long)]
    pub(super) json: bool,
    /// Fail on these findings: `undeclared`, `unresolved`, `expired`, rule numbers, or `all`.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    deny: Vec<Denied>,
    /// Tolerate the findings listed in this file; every other one fails, unless --deny names fewer.
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Write the findings of this run to a baseline file.
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub(super) write_baseline: Option<PathBuf>,
    /// Read the examples too, not only libraries and programs.
    #[arg(long)]
    pub(super) examples: bool,
    /// The day on which `until` dates are looked at, instead of today (UTC).
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date)]
    today: Option<Date>,
    /// Print the page of a rule.
    #[arg(long, value_name = "RULE", exclusive = true)]
    pub(super) explain: Option<Rule>,
}

impl Args {
    pub(super) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new("."))
    }

    pub(super) fn today(&self) -> Date {
        self.today.unwrap_or_else(|| OffsetDateTime::now_utc().date())
    }

    /// Whether a finding of this rule makes the audit fail, when no baseline knows it.
    pub(super) fn denies(&self, rule: Rule) -> bool {
        let ratchet = self.baseline.is_some() && self.deny.is_empty();
        rule.fails_always() || ratchet || self.deny.iter().any(|denied| denied.covers(rule))
    }
}

/// Reads a day as `2027-01-31`.
pub(super) fn date(text: &str) -> Result<Date, String> {
    Date::parse(text, format_description!("[year]-[month]-[day]"))
        .map_err(|_| format!("`{text}` is no day written as 2027-01-31"))
}
