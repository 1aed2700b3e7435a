//! The driver; `cargo xtask faults` starts it, with servers that it may restart.

use std::process::ExitCode;

use clap::Parser;
use idem_faults::driver::{self, Options};

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    driver::main(Options::parse()).await
}
