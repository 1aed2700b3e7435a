//! `idem audit`: which write routes of an application say how they behave on a retry, read from its source.
//!
//! The steps, one file each: find the crates (`packages`), parse their files (`source`), learn what each name means
//! (`program`), follow the routers as they are built (`routes`), hold them to the rules (`rules`), set aside what a
//! baseline knows (`baseline`), and say what was found (`report`). Nothing is compiled and nothing is run.

mod args;
mod baseline;
mod finding;
mod packages;
mod program;
mod report;
mod routes;
mod rules;
mod source;
mod stance;

use std::path::PathBuf;

pub use args::Args;

use crate::{Answer, Outcome};
use baseline::Baseline;

/// Long chains of method calls nest as deeply as they are long, and the audit follows them by recursion.
const STACK: usize = 512 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The path holds no Rust that can be audited.
    #[error("{0}")]
    NoSource(String),
    /// A file is no valid Rust.
    #[error("{0}")]
    Syntax(String),
    /// A manifest or a baseline is not what it should be.
    #[error("{}: {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The audit itself broke.
    #[error("the audit broke down, which is a defect of it: {0}")]
    Broken(String),
}

/// Audits what the arguments name.
///
/// ```no_run
/// use clap::Parser;
///
/// #[derive(Parser)]
/// struct Cli {
///     #[command(flatten)]
///     audit: idem_cli::audit::Args,
/// }
///
/// let answer = idem_cli::audit::run(&Cli::parse_from(["audit", "examples/quickstart"]).audit)?;
/// println!("{}", answer.text);
/// # Ok::<(), idem_cli::audit::Error>(())
/// ```
pub fn run(args: &Args) -> Result<Answer, Error> {
    if let Some(rule) = args.explain {
        return Ok(Answer { text: rule.page().to_owned(), outcome: Outcome::Clean });
    }
    std::thread::scope(|scope| {
        let audit = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || audit(args));
        let audit = audit.map_err(|error| Error::Broken(error.to_string()))?;
        audit.join().map_err(|_| Error::Broken("its thread panicked".to_owned()))?
    })
}

fn audit(args: &Args) -> Result<Answer, Error> {
    let packages = packages::find(args.path(), args.examples)?;
    let sources = source::load(&packages)?;
    let program = program::Program::new(&packages, &sources);
    let survey = routes::survey(&program);
    let findings = rules::check(&program, &survey, args.today());
    if let Some(path) = &args.write_baseline {
        Baseline::of(&findings).write(path)?;
    }
    let baseline = args.baseline.as_deref().or(args.write_baseline.as_deref()).map(Baseline::read);
    let (findings, vanished) = baseline.transpose()?.unwrap_or_default().sift(findings);
    let report = report::Report::new(args, &program, &survey, findings, vanished);
    let outcome = if report.denied() { Outcome::Denied } else { Outcome::Clean };
    Ok(Answer { text: if args.json { report.json()? } else { report.text() }, outcome })
}
