//! Charges orders at a payment provider, each of them once, however often the client or the network repeats.
//!
//! Read `payments.rs` first, then [`bank`], the client that cannot be called without a derived key. `provider.rs`
//! is the pretend provider, `demo.rs` plays the clients and kills the service in the middle.

#![forbid(unsafe_code)]

mod accounts;
pub mod bank;
mod demo;
mod error;
mod payments;
mod provider;
mod service;

use std::process::ExitCode;

/// The program: `payments`, or `payments --demo`.
pub async fn main() -> ExitCode {
    example_support::run(service::run, demo::run).await
}

#[cfg(test)]
mod tests {
    /// The file shows a reviewer each change of a stance; `IDEM_UPDATE_STANCES=1 cargo test` writes it anew.
    #[test]
    fn every_change_of_a_stance_is_seen() {
        idem_runtime::assert_stances!("stances.snap");
    }
}
