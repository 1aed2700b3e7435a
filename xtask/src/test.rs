//! `cargo xtask test`: prepares the machine, starts the servers, runs the gates and counts them.

use std::fmt;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use crate::gates::{self, Gate, Work};
use crate::{Result, mariadb, packages, postgres, tidy};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    LeftOut(&'static str),
    NotRun,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("ok"),
            Self::Failed => f.write_str("FAILED"),
            Self::LeftOut(reason) => write!(f, "left out: {reason}"),
            Self::NotRun => f.write_str("not run"),
        }
    }
}

/// Whether all gates passed. Stops at the first that fails, unless told otherwise.
pub(crate) async fn run(root: &Path, keep_going: bool) -> Result<bool> {
    packages::install_missing().await?;
    let postgres = postgres::Server::start().await?;
    let mariadb = mariadb::Server::start().await?;
    let gates = gates::all(root, &postgres.url(), &mariadb.url())?;
    let mut outcomes = Vec::new();
    let mut failed = false;
    for gate in &gates {
        let outcome = if failed && !keep_going {
            Outcome::NotRun
        } else {
            run_gate(root, gate).await.unwrap_or(Outcome::Failed)
        };
        failed |= outcome == Outcome::Failed;
        outcomes.push(outcome);
    }
    drop((postgres, mariadb));

    println!();
    for (gate, outcome) in gates.iter().zip(&outcomes) {
        println!("{:<40} {outcome}", gate.name);
    }
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    println!("{} passed, {} failed", count(Outcome::Passed), count(Outcome::Failed));
    Ok(!failed)
}

async fn run_gate(root: &Path, gate: &Gate) -> Result<Outcome> {
    let start = Instant::now();
    let passed = match &gate.work {
        Work::LeftOut(reason) => {
            println!("\n== {}: left out, {reason}", gate.name);
            return Ok(Outcome::LeftOut(reason));
        }
        Work::Tidy => {
            println!("\n== {}: cargo xtask tidy", gate.name);
            tidy::run(root)
        }
        Work::Cargo { arguments, variables } => {
            let mut line: Vec<String> =
                variables.iter().map(|(name, value)| format!("{name}='{value}'")).collect();
            line.push("cargo".to_owned());
            line.extend_from_slice(arguments);
            println!("\n== {}: {}", gate.name, line.join(" "));
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            run_program(root, cargo.as_ref(), arguments, variables).await
        }
        Work::Program { name, arguments } => {
            println!("\n== {}: {name} {}", gate.name, arguments.join(" "));
            // Beside this program, as cargo has built both.
            run_program(root, &std::env::current_exe()?.with_file_name(name), arguments, &[]).await
        }
    };
    let passed = passed.inspect_err(|error| eprintln!("error: {error}"))?;
    println!(
        "== {}: {} after {} s",
        gate.name,
        if passed { "ok" } else { "FAILED" },
        start.elapsed().as_secs()
    );
    Ok(if passed { Outcome::Passed } else { Outcome::Failed })
}

async fn run_program(
    root: &Path,
    program: &Path,
    arguments: &[String],
    variables: &[(&'static str, String)],
) -> Result<bool> {
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
    // A group of its own, so that the programs that it starts can be stopped with it.
    let mut child = command.current_dir(root).stdin(Stdio::null()).process_group(0).spawn()?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let status = child.wait().await?;
    group.0 = None;
    Ok(status.success())
}

/// A group of processes that is asked to end when it is dropped early.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            let _ = kill_process_group(leader, Signal::TERM);
        }
    }
}
