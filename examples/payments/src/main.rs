//! The program of the example; everything is in the library, whose documentation is tested.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    payments::main().await
}
