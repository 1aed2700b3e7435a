//! The command line of idem, as a library so that tests can call it.
//!
//! `idem audit` reads source and needs neither a database nor the runtime. The other commands are for whoever
//! runs an application: they look at its records through the stores of the runtime.

#![forbid(unsafe_code)]

pub mod audit;
#[cfg(feature = "database")]
pub mod operate;
mod pages;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What the user asked for.
///
/// ```
/// use clap::Parser;
/// use idem_cli::Cli;
///
/// assert!(Cli::try_parse_from(["idem", "audit", "src", "--deny", "undeclared"]).is_ok());
/// assert!(Cli::try_parse_from(["idem", "audit", "src", "--deny", "nonsense"]).is_err());
/// ```
#[derive(Debug, Parser)]
#[command(
    name = "idem",
    version,
    long_about = None,
    about = "Makes a write happen once: audits a source, and shows what the records of a database say"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Audit(audit::Args),
    #[cfg(feature = "database")]
    #[command(flatten)]
    Operate(operate::Command),
    #[command(flatten)]
    Page(pages::Page),
}

/// What a command has to say, and how the program ends.
#[derive(Debug)]
pub struct Answer {
    /// What goes to the standard output; colours are in it and go away where there is no terminal.
    pub text: String,
    /// Whether something was found that must not be.
    pub outcome: Outcome,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The audit failed.
    #[error(transparent)]
    Audit(#[from] audit::Error),
    /// A command on a database failed.
    #[cfg(feature = "database")]
    #[error(transparent)]
    Operate(#[from] operate::Error),
}

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing that was asked about is wrong.
    Clean,
    /// Something was found that must not be.
    Denied,
    /// The question could not be answered: a wrong path, a source that cannot be parsed, no database.
    Unusable,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Clean => 0,
            Outcome::Denied => 1,
            Outcome::Unusable => 2,
        })
    }
}

impl Cli {
    /// Does what was asked, and gives the answer.
    ///
    /// ```
    /// use clap::Parser;
    ///
    /// let answer = idem_cli::Cli::parse_from(["idem", "audit", "--explain", "IDEM001"]).answer()?;
    /// assert!(answer.text.starts_with("# IDEM001"));
    /// # Ok::<(), idem_cli::Error>(())
    /// ```
    pub fn answer(&self) -> Result<Answer, Error> {
        match &self.command {
            Command::Audit(args) => Ok(audit::run(args)?),
            #[cfg(feature = "database")]
            Command::Operate(command) => Ok(operate::run(command)?),
            Command::Page(page) => Ok(page.answer()),
        }
    }

    /// Does what was asked and prints the answer.
    #[must_use]
    pub fn run(&self) -> Outcome {
        match self.answer() {
            Ok(answer) => {
                // A reader that has seen enough closes the pipe; that changes nothing about the outcome.
                let mut out = anstream::stdout().lock();
                let _ = out.write_all(answer.text.as_bytes()).and_then(|()| out.flush());
                answer.outcome
            }
            Err(error) => {
                let _ = writeln!(anstream::stderr(), "error: {error}");
                Outcome::Unusable
            }
        }
    }
}
