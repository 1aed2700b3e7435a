//! The program `idem`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use idem_cli::Cli;

fn main() -> ExitCode {
    Cli::parse().run().into()
}
