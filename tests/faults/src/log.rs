//! What happened in a round: the requests of each key with their answers, and the faults.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::routes::{Effect, Owner};

/// What a request came back with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Got {
    /// No answer, and why.
    Nothing(String),
    /// An answer.
    Answer {
        /// Its status.
        status: u16,
        /// Its content type and the other headers that a replay must repeat.
        headers: String,
        /// Its content.
        body: String,
    },
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Its place in the order of all beginnings and ends of requests.
    pub began: u64,
    /// The place of its end in that order.
    pub ended: u64,
    /// When it began, counted from the start of the round.
    pub at: Duration,
    /// Which process was asked.
    pub process: usize,
    /// Its payload.
    pub payload: String,
    /// Whether it is another request under a key that is taken.
    pub impostor: bool,
    /// Whether it was sent after all faults had ended and all leases lapsed.
    pub last: bool,
    /// What it got.
    pub got: Got,
}

/// A fault that struck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Struck {
    /// When, counted from the start of the round.
    pub at: Duration,
    /// What.
    pub what: String,
    /// Where it struck, as far as that is known.
    pub place: String,
}

/// Everything that the checker looks at.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// The requests of each key, in any order.
    pub asks: BTreeMap<Owner, Vec<Ask>>,
    /// The faults.
    pub struck: Vec<Struck>,
    /// All effects, of the tables and of the provider.
    pub effects: Vec<Effect>,
    /// Events that were not delivered although there was time for it, by their payload.
    pub undelivered: Vec<String>,
}
