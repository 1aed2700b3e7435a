//! Queues tasks without a job library: as rows of a table of its own, and at a queue that is elsewhere.
//!
//! Read `invoices.rs` first: the task is a row, written in the transaction of the request. `queue.rs` is that table and
//! its worker, `mails.rs` the task itself. `exports.rs` is the other case: the queue is not in our database, so the id
//! of the task is bound and committed before it is submitted. `demo.rs` kills the service at its worst moments.

#![forbid(unsafe_code)]

mod demo;
mod elsewhere;
mod error;
mod exports;
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
