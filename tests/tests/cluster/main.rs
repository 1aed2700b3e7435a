//! Databases of more than one machine: whatever fails, an acknowledged answer is found and an effect is there once.
//!
//! The tests start their own clusters. `IDEM_TEST_ROUNDS` repeats the faults, for a longer run.
#![cfg(any(feature = "mysql", feature = "postgres"))]

mod errors;
#[cfg(feature = "mysql")]
mod galera;
mod load;
#[cfg(feature = "postgres")]
mod patroni;
#[cfg(feature = "postgres")]
mod stand_in;
#[cfg(feature = "postgres")]
mod standbys;

/// How often each fault is injected.
pub(crate) fn rounds() -> usize {
    std::env::var("IDEM_TEST_ROUNDS").map_or(1, |rounds| rounds.parse().expect("a number of rounds"))
}
