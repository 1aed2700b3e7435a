//! Creates invoices, and sends each of them by mail once, in the background.
//!
//! Read `invoices.rs` first: the job is queued in the transaction of the request. Then `mails.rs`, the job itself, which
//! the queue may run more than once. `queue.rs` is the job library on our database, `demo.rs` kills the worker.

#![forbid(unsafe_code)]

mod demo;
mod error;
mod invoices;
mod mails;
mod queue;
mod service;

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
