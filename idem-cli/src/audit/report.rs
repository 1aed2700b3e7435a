//! What was found, for a person or a machine.

mod json;
mod text;

use std::collections::BTreeMap;

use crate::audit::Args;
use crate::audit::baseline::Entry;
use crate::audit::finding::Finding;
use crate::audit::program::Program;
use crate::audit::routes::{Kind, Route, Survey};

/// The result of one audit.
pub(super) struct Report<'a> {
    routes: Vec<&'a Route>,
    /// With each finding, whether it makes the audit fail.
    findings: Vec<(Finding, bool)>,
    /// Entries of the baseline that are found no more.
    vanished: Vec<Entry>,
    /// The file that can shrink.
    baseline: Option<String>,
    files: usize,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        args: &Args,
        program: &Program<'_>,
        survey: &'a Survey,
        findings: Vec<Finding>,
        vanished: Vec<Entry>,
    ) -> Self {
        let denied = |finding: &Finding| !finding.known && args.denies(finding.rule);
        let findings = findings.into_iter().map(|finding| {
            let denied = denied(&finding);
            (finding, denied)
        });
        Self {
            routes: survey.routes.iter().filter(|route| !matches!(route.kind, Kind::Escape(_))).collect(),
            findings: findings.collect(),
            vanished,
            baseline: args.baseline.as_ref().map(|path| path.display().to_string()),
            files: program.sources.files.len(),
        }
    }

    /// Whether something denied was found.
    pub(super) fn denied(&self) -> bool {
        self.findings.iter().any(|(_, denied)| *denied)
    }

    /// How many routes there are of each stance; what is unresolved counts as that alone.
    fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for route in &self.routes {
            *counts.entry(status(route)).or_default() += 1;
        }
        counts
    }
}

/// The stance of a route, or that not all of it is known.
fn status(route: &Route) -> &'static str {
    match route.kind {
        Kind::Unresolved(_) => "unresolved",
        _ => route.handler.stance.name(),
    }
}
