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

use idem_conformance::{Control, Report, Server, Verdict};

/// Runs all cases one after the other, as some of them kill the server, and lists those that fail.
async fn run_all(server: &Server, control: &impl Control) {
    let mut failed = Vec::new();
    for case in idem_conformance::all() {
        let report = idem_conformance::run(&case, server, control).await;
        println!("{report}");
        // This driver can do whatever a case needs.
        if !matches!(report.verdict, Verdict::Passed(_)) {
            failed.push(report);
        }
    }
    let list: Vec<String> = failed.iter().map(Report::to_string).collect();
    assert!(list.is_empty(), "{} cases did not pass:\n\n{}", list.len(), list.join("\n\n"));
}
