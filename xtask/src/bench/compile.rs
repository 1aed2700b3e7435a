//! `cargo xtask bench compile`: the same functions annotated and plain, compiled in turn.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::process::Command;

use super::crates::{self, ANNOTATED, MACROS, PLAIN, STEM};
use crate::Result;

/// How much to compile and how often.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How many functions each crate has: handlers and service functions, with and without a transaction.
    #[arg(long, default_value_t = 100)]
    functions: usize,
    /// How often each crate is compiled.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Write the figures to this file, as a JSON list.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What cargo is asked for.
#[derive(Debug, Clone, Copy)]
struct Step {
    name: &'static str,
    cargo: &'static str,
    /// Whether the compiler starts without what it kept from the last time.
    anew: bool,
}

const STEPS: [Step; 3] = [
    Step { name: "check", cargo: "check", anew: true },
    Step { name: "build", cargo: "build", anew: true },
    Step { name: "recheck", cargo: "check", anew: false },
];

/// One line of the result; times are medians in milliseconds.
#[derive(Debug, Serialize)]
#[serde(tag = "measure", rename_all = "snake_case")]
enum Figure {
    /// The crate of annotated functions against that of plain ones.
    Compile {
        step: &'static str,
        functions: usize,
        rounds: u32,
        ratio_to: &'static str,
        ratio: f64,
        annotated_ms: f64,
        plain_ms: f64,
        added_per_function_ms: f64,
    },
    /// The attributes themselves from clean, beyond syn, quote and proc-macro2.
    CompileMacros { rounds: u32, beyond_syn_ms: f64, syn_ms: f64 },
}

/// Compiles, prints and writes the figures.
pub(crate) async fn run(root: &Path, options: &Options) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    crates::write(folder.path(), root, options.functions)?;
    // Beside our own build, so that the dependencies are compiled at the first run alone.
    let target = root.join("target").join("bench-compile");
    let mut figures = functions(folder.path(), &target, options).await?;
    figures.push(macros(folder.path(), options.rounds.min(3)).await?);
    print(&figures);
    if let Some(file) = &options.json {
        std::fs::write(file, serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(true)
}

async fn functions(folder: &Path, target: &Path, options: &Options) -> Result<Vec<Figure>> {
    for step in STEPS {
        for name in [PLAIN, ANNOTATED] {
            cargo(folder, target, step.cargo, name).await?;
        }
    }
    let mut times = vec![(Vec::new(), Vec::new()); STEPS.len()];
    for round in 0..options.rounds {
        println!("round {} of {}", round + 1, options.rounds);
        for (step, (plain, annotated)) in STEPS.iter().zip(&mut times) {
            plain.push(timed(folder, target, *step, PLAIN).await?);
            annotated.push(timed(folder, target, *step, ANNOTATED).await?);
        }
    }
    let figure = |(step, (plain, annotated)): (Step, (Vec<f64>, Vec<f64>))| {
        let (plain_ms, annotated_ms) = (median(plain), median(annotated));
        #[expect(clippy::cast_precision_loss, reason = "a count of functions is small")]
        let added_per_function_ms = (annotated_ms - plain_ms) / options.functions as f64;
        Figure::Compile {
            step: step.name,
            functions: options.functions,
            rounds: options.rounds,
            ratio_to: "plain",
            ratio: annotated_ms / plain_ms,
            annotated_ms,
            plain_ms,
            added_per_function_ms,
        }
    };
    Ok(STEPS.into_iter().zip(times).map(figure).collect())
}

/// The time that cargo takes for one crate that was touched.
async fn timed(folder: &Path, target: &Path, step: Step, name: &str) -> Result<f64> {
    let source = folder.join(name).join("src/lib.rs");
    std::fs::File::options().append(true).open(source)?.set_modified(std::time::SystemTime::now())?;
    if step.anew {
        std::fs::remove_dir_all(target.join("debug/incremental"))?;
    }
    cargo(folder, target, step.cargo, name).await
}

/// Builds the attributes from clean, after what every crate of attributes needs.
async fn macros(folder: &Path, rounds: u32) -> Result<Figure> {
    let target = folder.join("target");
    let (mut syn, mut beyond) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        if target.exists() {
            std::fs::remove_dir_all(&target)?;
        }
        syn.push(cargo(folder, &target, "build", STEM).await?);
        beyond.push(cargo(folder, &target, "build", MACROS).await?);
    }
    Ok(Figure::CompileMacros { rounds, beyond_syn_ms: median(beyond), syn_ms: median(syn) })
}

/// Runs cargo on one crate; how long it took, in milliseconds.
async fn cargo(folder: &Path, target: &Path, subcommand: &str, name: &str) -> Result<f64> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(folder).args([subcommand, "--quiet", "--package", name]);
    command.env("CARGO_TARGET_DIR", target).env_remove("CARGO_INCREMENTAL").env_remove("RUSTFLAGS");
    let start = Instant::now();
    let status = command.kill_on_drop(true).status().await?;
    if !status.success() {
        return Err(format!("cargo {subcommand} --package {name} failed").into());
    }
    Ok(milliseconds(start.elapsed()))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The middle one, or the mean of the two in the middle.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    if times.len() % 2 == 1 { times[middle] } else { f64::midpoint(times[middle - 1], times[middle]) }
}

fn print(figures: &[Figure]) {
    println!(
        "{:<10} {:>9} {:>9} {:>12} {:>6} {:>16}",
        "step", "functions", "plain ms", "annotated ms", "ratio", "ms per function"
    );
    for figure in figures {
        match figure {
            Figure::Compile {
                step, functions, ratio, annotated_ms, plain_ms, added_per_function_ms, ..
            } => {
                println!(
                    "{step:<10} {functions:>9} {plain_ms:>9.0} {annotated_ms:>12.0} {ratio:>6.2} {added_per_function_ms:>16.2}"
                );
            }
            Figure::CompileMacros { beyond_syn_ms, syn_ms, .. } => {
                println!(
                    "idem-macros from clean: {beyond_syn_ms:.0} ms beyond the {syn_ms:.0} ms of syn, quote and proc-macro2"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_between_the_two_in_the_middle() {
        assert!((median(vec![9.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0, 2.0, 9.0]) - 3.0).abs() < f64::EPSILON);
    }
}
