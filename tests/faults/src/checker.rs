//! Holds the answers that clients got against the effects that are there. It knows nothing of how they came about.

pub(crate) mod answer;
mod key;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::log::Log;
use crate::routes::{Effect, Owner};

/// What must not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// An effect too many: a second one, one of a request that failed, or one of an impostor.
    DoubleEffect,
    /// Something that was acknowledged is not there: an effect, an event, or the answer itself.
    Lost,
    /// A key that one more request does not end after all faults are over and all leases have lapsed.
    Stuck,
    /// An answer for somebody else, or for another request.
    Leaked,
}

/// A key that broke a promise, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which promise.
    pub fault: Fault,
    /// Whose key.
    pub owner: Owner,
    /// In words.
    pub story: String,
}

/// What the checker found in one round.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// How many keys it looked at.
    pub keys: usize,
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// How many keys broke this promise.
    #[must_use]
    pub fn count(&self, fault: Fault) -> usize {
        let owners = self.findings.iter().filter(|finding| finding.fault == fault);
        owners.map(|finding| &finding.owner).collect::<std::collections::BTreeSet<_>>().len()
    }
}

/// Judges a round.
#[must_use]
pub fn check(log: &Log) -> Verdict {
    let mut effects: BTreeMap<&Owner, Vec<&Effect>> = BTreeMap::new();
    for effect in &log.effects {
        effects.entry(&effect.owner).or_default().push(effect);
    }
    let mut findings = Vec::new();
    for (owner, asks) in &log.asks {
        let effects = effects.remove(owner).unwrap_or_default();
        let mut asks: Vec<_> = asks.iter().collect();
        asks.sort_by_key(|ask| ask.began);
        key::check(owner, &asks, &effects, &log.undelivered, &mut |fault, story| {
            findings.push(Finding { fault, owner: owner.clone(), story });
        });
    }
    for (owner, effects) in effects {
        let story = format!("nobody asked for {effects:?}");
        findings.push(Finding { fault: Fault::Leaked, owner: owner.clone(), story });
    }
    Verdict { keys: log.asks.len(), findings }
}
