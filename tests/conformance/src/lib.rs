//! The conformance cases of idempotency over HTTP, and the runner that holds any server against them.
//!
//! The cases know nothing of Rust: a server in any language passes or fails them over TCP. The runner knows
//! nothing of the framework under test.

#![forbid(unsafe_code)]

mod answer;
mod case;
mod client;
mod control;
mod counts;
mod expect;
mod fill;
mod foresight;
mod message;
mod report;
mod run;
mod shorthand;
mod step;

pub use answer::Answer;
pub use case::{Case, Need, Policy, Tier};
pub use client::Server;
pub use control::{Control, NoControl};
pub use foresight::{Forecast, Foreseen};
pub use message::{Framing, Message};
pub use report::{Report, Verdict};
pub use run::run;

/// The cases of this repository: the main ones, and those of a client that tries everything.
const CASES: [&str; 2] = [include_str!("../cases.json"), include_str!("../edges.json")];

/// Reads cases from a text in the form of `cases.json`.
///
/// # Errors
///
/// When it is no JSON, or says something that the vocabulary does not know.
pub fn read(text: &str) -> serde_json::Result<Vec<Case>> {
    serde_json::from_value(shorthand::spell_out(serde_json::from_str(text)?))
}

/// All cases of this repository.
///
/// # Panics
///
/// When a file of cases is malformed; a test of this crate reads them.
#[must_use]
pub fn all() -> Vec<Case> {
    CASES.iter().flat_map(|text| read(text).expect("the cases are well-formed")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn the_cases_are_well_formed_and_each_id_is_there_once() {
        let cases = super::all();
        let ids: HashSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids.len(), cases.len());
        assert!(cases.iter().all(|case| !case.steps.is_empty()));
    }
}
