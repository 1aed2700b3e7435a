//! The sums over all rounds, and the line that ends a run.

use std::collections::BTreeMap;

use crate::checker::{Fault, check};
use crate::log::Log;
use crate::plan::Database;
use crate::story::tell;

/// At most so many stories are told in full.
const STORIES: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Tally {
    struck: BTreeMap<String, usize>,
    keys: usize,
    broken: [usize; 4],
    told: usize,
}

const ALL: [Fault; 4] = [Fault::DoubleEffect, Fault::Lost, Fault::Stuck, Fault::Leaked];

impl Tally {
    /// Judges a round and tells of it; how many faults struck.
    pub(super) fn add(&mut self, database: Database, number: u64, log: &Log) -> usize {
        let verdict = check(log);
        for struck in &log.struck {
            *self.struck.entry(format!("{} {}", database.name(), struck.what)).or_default() += 1;
        }
        self.keys += verdict.keys;
        let counts = ALL.map(|fault| verdict.count(fault));
        self.broken.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        let asks: usize = log.asks.values().map(Vec::len).sum();
        println!(
            "{} round {number}: {} faults, {} keys, {asks} requests, {} broken promises",
            database.name(),
            log.struck.len(),
            verdict.keys,
            counts.iter().sum::<usize>()
        );
        for finding in &verdict.findings {
            if self.told < STORIES {
                self.told += 1;
                println!("{}", tell(finding, log));
            }
        }
        log.struck.len()
    }

    pub(super) fn is_clean(&self) -> bool {
        self.broken == [0; 4] && self.keys > 0
    }

    /// The counts of each fault, and last the line that everybody looks for.
    pub(super) fn print(&self) {
        for (what, count) in &self.struck {
            println!("{count:>7}  {what}");
        }
        let injected: usize = self.struck.values().sum();
        let [doubles, lost, stuck, leaked] = self.broken;
        println!(
            "faults: injected={injected} keys={} double_effects={doubles} lost={lost} stuck={stuck} leaked={leaked}",
            self.keys
        );
    }
}
