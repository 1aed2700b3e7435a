//! Receives the webhooks of a payment provider, and books each event once.
//!
//! Read `events.rs` first, then `sender.rs`: who may deliver, known by a signature over the raw body. `orders.rs` is a
//! route of the same service for its own users. `demo.rs` plays the provider, and somebody who pretends to be it.

#![forbid(unsafe_code)]

mod demo;
mod error;
mod events;
mod orders;
mod sender;
mod service;
mod signature;

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
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
