//! Runs the conformance cases against any server: `conformance --url http://... [--case ID]`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use idem_conformance::{Case, NoControl, Server, Verdict};

/// Holds a server against the cases.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the server answers, such as `http://127.0.0.1:8080`.
    #[arg(long)]
    url: String,
    /// Only these cases.
    #[arg(long = "case")]
    only: Vec<String>,
    /// Other cases than those of this repository.
    #[arg(long)]
    file: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether no case failed.
async fn run(arguments: &Arguments) -> Result<bool, String> {
    let server = Server::new(&arguments.url)?;
    let (mut passed, mut failed, mut left_out) = (0, 0, 0);
    for case in cases(arguments)? {
        let report = idem_conformance::run(&case, &server, &NoControl).await;
        println!("{report}");
        match report.verdict {
            Verdict::Passed(_) => passed += 1,
            Verdict::Failed(_) => failed += 1,
            Verdict::LeftOut(_) => left_out += 1,
        }
    }
    println!("{passed} passed, {failed} failed, {left_out} left out");
    Ok(failed == 0)
}

fn cases(arguments: &Arguments) -> Result<Vec<Case>, String> {
    let mut cases = match &arguments.file {
        None => idem_conformance::all(),
        Some(path) => {
            let text =
                std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            idem_conformance::read(&text).map_err(|error| format!("{}: {error}", path.display()))?
        }
    };
    if let Some(unknown) = arguments.only.iter().find(|id| cases.iter().all(|case| case.id != **id)) {
        return Err(format!("there is no case `{unknown}`"));
    }
    cases.retain(|case| arguments.only.is_empty() || arguments.only.contains(&case.id));
    Ok(cases)
}
