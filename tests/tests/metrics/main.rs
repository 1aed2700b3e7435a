//! What docs/metrics.md says is what a Prometheus server reads, name by name and word by word.

mod documented;
mod driven;
mod events;
mod exporter;
mod handlers;
mod ops;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use idem_runtime::store::{Maintain, Outbox, Store};
use idem_tests::{Fixture, on_every_database};

/// Metrics, as they are documented or as they are scraped.
#[derive(Default)]
pub(crate) struct Metrics {
    /// The kind of each.
    pub(crate) kinds: BTreeMap<String, String>,
    /// The labels of each.
    pub(crate) labels: BTreeMap<String, BTreeSet<String>>,
    /// Name, label and value, of all labels but `route` and `event`.
    pub(crate) words: BTreeSet<(String, String, String)>,
}

/// Words that need a broken network; the tests of outages and lost commits bring them about.
const NOT_DRIVEN: &[(&str, &str)] = &[
    ("outcome", "commit_unknown"),
    ("operation", "read_back"),
    ("fault", "again"),
    ("fault", "locked"),
    ("fault", "aborted"),
    ("fault", "unknown"),
];

async fn an_exporter_shows_what_the_documentation_lists_and_nothing_else<F: Fixture<S: Maintain + Outbox>>() {
    exporter::install();
    // Each waits for what it brings about; a minute is enough for all of it many times over.
    let driving = tokio::time::timeout(Duration::from_mins(1), drive::<F>()).await;
    driving.expect("everything comes about");

    let scraped = exporter::scrape().await;
    let documented = documented::metrics();
    assert_eq!(scraped.kinds, documented.kinds, "names and kinds");
    for (name, labels) in &scraped.labels {
        assert_eq!(labels, &documented.labels[name], "labels of {name}");
    }
    let strange: BTreeSet<_> = scraped.words.difference(&documented.words).collect();
    assert!(strange.is_empty(), "not documented: {strange:?}");
    let missing: BTreeSet<_> = documented
        .words
        .difference(&scraped.words)
        .filter(|(_, label, word)| !NOT_DRIVEN.contains(&(label.as_str(), word.as_str())))
        // Whether somebody else's test has been there is all the same.
        .filter(|(name, label, word)| {
            let only_faults = name == "idem_store_faults_total" && label == "operation";
            !only_faults && (F::S::SINGLE_WRITER || word != "turn")
        })
        .collect();
    assert!(missing.is_empty(), "documented, but never seen: {missing:?}");
}

async fn drive<F: Fixture<S: Maintain + Outbox>>() {
    driven::every_ending::<F>().await;
    driven::every_wait::<F>().await;
    driven::every_reclaim::<F>().await;
    driven::every_renewal::<F>().await;
    driven::every_outage::<F>().await;
    driven::every_round::<F>().await;
    events::every_fate::<F>().await;
    handlers::unclaimed_and_overloaded().await;
}

on_every_database! { an_exporter_shows_what_the_documentation_lists_and_nothing_else }
