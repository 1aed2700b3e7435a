//! Takes files in parts, and completes each upload once.
//!
//! Read `complete.rs` first: its key is the id of the upload, so the client needs no header. `files.rs` is the folder
//! with the parts and the files, `demo.rs` plays a client that repeats itself.

#![forbid(unsafe_code)]

mod complete;
mod create;
mod demo;
mod error;
mod files;
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
