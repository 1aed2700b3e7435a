//! Runs a fuzz target for a short while, as a part of the ordinary tests: over its corpus and over changed copies.
//!
//! The crates whose targets run so include this file; `cargo fuzz` gives the same targets inputs without end.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// One change of an input: a part of it is replaced by a part of another file, or by noise.
type Change = (Index, Index, Index, (Index, Index), Option<Vec<u8>>);

/// Calls `target` with every file of `fuzz/corpus/<name>`, and with as many changed ones as `PROPTEST_CASES` says.
pub(crate) fn run(name: &str, target: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(name);
    let files = std::fs::read_dir(&folder).expect("a target has a corpus");
    let corpus: Vec<Vec<u8>> = files
        .map(|file| std::fs::read(file.expect("it can be listed").path()).expect("it can be read"))
        .collect();
    assert!(!corpus.is_empty(), "the corpus of {name} is empty");
    for input in &corpus {
        target(input);
    }

    let noise = proptest::option::weighted(0.5, vec(any::<u8>(), 0..8));
    let change = (any::<Index>(), any::<Index>(), any::<Index>(), any::<(Index, Index)>(), noise);
    let inputs = (any::<Index>(), vec(change, 1..6)).prop_map(|(start, changes): (Index, Vec<Change>)| {
        changes.iter().fold(start.get(&corpus).clone(), |input, change| changed(input, change, &corpus))
    });
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { 2_000 };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 100, ..Config::default() };
    let done = TestRunner::new(config).run(&inputs, |input| {
        target(&input);
        Ok(())
    });
    if let Err(failure) = done {
        panic!("{name}: {failure}");
    }
}

fn changed(mut input: Vec<u8>, (from, length, other, part, noise): &Change, corpus: &[Vec<u8>]) -> Vec<u8> {
    let from = from.index(input.len() + 1);
    let to = (from + length.index(9)).min(input.len());
    let other = other.get(corpus);
    let start = part.0.index(other.len() + 1);
    let end = start + part.1.index(other.len() - start + 1);
    let put = noise.as_deref().unwrap_or(&other[start..end]);
    input.splice(from..to, put.iter().copied());
    input
}
