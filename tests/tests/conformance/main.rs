//! The HTTP conformance cases against the reference app, as a process of its own on each database.

mod app;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod behind_proxy;
mod faults;
#[cfg(feature = "mysql")]
mod on_mysql;
#[cfg(feature = "postgres")]
mod on_postgres;
mod on_sqlite;
mod oracle;

use std::collections::BTreeMap;

use futures_util::StreamExt;
use futures_util::stream;
use idem_conformance::{Case, Control, Need, Report, Server, Verdict};

/// How many cases run at once.
const AT_ONCE: usize = 8;
/// How many of those whose waiting times a busy machine could spoil.
const TIMED_AT_ONCE: usize = 4;
/// Connections to the database for looking at records.
const CONNECTIONS: u32 = 4;

/// Every verdict that `idem diagnose` knows.
const VERDICTS: [&str; 11] = [
    "missing",
    "replayable",
    "request_hash_conflict",
    "in_progress",
    "lease_lapsed",
    "outcome_unknown",
    "failed_retry_required",
    "failed_retryable",
    "released",
    "expired_reusable",
    "unknown_fingerprint",
];

/// Runs all cases, lists those that fail, and wants to have seen every verdict come true.
///
/// Those that kill the server, take its database away or sweep its records run one after the other, when the others
/// are done.
async fn run_all(database: &str, server: &Server, control: &impl Control) {
    let alone = |case: &Case| {
        [Need::ProcessControl, Need::StoreControl, Need::Operator].into_iter().any(|need| case.needs(need))
    };
    let (alone, together): (Vec<Case>, Vec<Case>) = idem_conformance::all().into_iter().partition(alone);
    let (timed, quick): (Vec<Case>, Vec<Case>) = together.into_iter().partition(Case::is_timed);
    let mut reports: Vec<Report> = Vec::new();
    for (cases, at_once) in [(&quick, AT_ONCE), (&timed, TIMED_AT_ONCE)] {
        let runs = stream::iter(cases).map(|case| idem_conformance::run(case, server, control));
        reports.extend(runs.buffer_unordered(at_once).collect::<Vec<_>>().await);
    }
    for case in &alone {
        reports.push(idem_conformance::run(case, server, control).await);
    }
    reports.sort_by(|one, other| one.id.cmp(&other.id));
    let mut foreseen: BTreeMap<&str, usize> = BTreeMap::new();
    for report in &reports {
        println!("{report}");
        for verdict in &report.foreseen {
            *foreseen.entry(verdict).or_default() += 1;
        }
    }
    let comparisons: usize = foreseen.values().sum();
    // This driver can do whatever a case needs.
    let failed: Vec<&Report> =
        reports.iter().filter(|report| !matches!(report.verdict, Verdict::Passed(_))).collect();
    println!(
        "conformance: database={database} cases={} failed={} comparisons={comparisons} verdicts={}",
        reports.len(),
        failed.len(),
        foreseen.len()
    );
    let list: Vec<String> = failed.iter().map(ToString::to_string).collect();
    assert!(list.is_empty(), "{} cases did not pass:\n\n{}", list.len(), list.join("\n\n"));
    for verdict in VERDICTS {
        assert!(foreseen.contains_key(verdict), "no request met the verdict `{verdict}`: {foreseen:?}");
    }
}
