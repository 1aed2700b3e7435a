//! Findings that a code base already has: they are tolerated, and the list can only shrink.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::audit::Error;
use crate::audit::finding::Finding;

const VERSION: u32 = 1;

/// What was found when the baseline was written.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Baseline {
    version: u32,
    findings: Vec<Entry>,
}

/// A finding without its place: lines move with every edit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) rule: String,
    #[serde(default)]
    pub(super) method: String,
    #[serde(default)]
    pub(super) path: String,
    pub(super) handler: String,
}

impl Entry {
    fn of(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.to_string(),
            method: finding.method.clone(),
            path: finding.path.clone(),
            handler: finding.handler.clone(),
        }
    }
}

impl Baseline {
    /// All findings that a baseline can tolerate; two alike are two entries.
    pub(super) fn of(findings: &[Finding]) -> Self {
        let tolerable = findings.iter().filter(|finding| !finding.rule.fails_always());
        let mut findings: Vec<Entry> = tolerable.map(Entry::of).collect();
        findings.sort();
        Self { version: VERSION, findings }
    }

    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let malformed = |message: String| Error::Malformed { path: path.to_owned(), message };
        let text =
            std::fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let baseline: Self = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        if baseline.version != VERSION {
            return Err(malformed(format!(
                "it has version {}, this program reads {VERSION}",
                baseline.version
            )));
        }
        Ok(baseline)
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::Broken(error.to_string()))?;
        std::fs::write(path, text + "\n").map_err(|source| Error::File { path: path.to_owned(), source })
    }

    /// Marks the findings that it knows, and gives the entries that are found no more.
    pub(super) fn sift(self, mut findings: Vec<Finding>) -> (Vec<Finding>, Vec<Entry>) {
        let mut left = self.findings;
        for finding in findings.iter_mut().filter(|finding| !finding.rule.fails_always()) {
            let entry = Entry::of(finding);
            if let Some(index) = left.iter().position(|known| *known == entry) {
                left.swap_remove(index);
                finding.known = true;
            }
        }
        left.sort();
        (findings, left)
    }
}
