//! Runs the demo as its readers do, and holds it to its last line.

use std::process::{Command, Output};

fn quickstart(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quickstart")).args(arguments).output().unwrap()
}

/// The numbers of `demo: requests=N executed=N ...`, by name and in order.
fn counts(line: &str) -> Vec<(&str, u64)> {
    let counts = line.strip_prefix("demo: ").expect("the last line is the result");
    counts
        .split(' ')
        .map(|count| count.split_once('=').unwrap())
        .map(|(n, c)| (n, c.parse().unwrap()))
        .collect()
}

#[test]
fn the_demo_on_sqlite_shows_every_step_and_no_double_effect() {
    let Output { status, stdout, stderr } = quickstart(&["--demo"]);
    let (shown, complaints) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success(), "{shown}\n{complaints}");
    for step in 1..=6 {
        assert!(shown.lines().any(|line| line.starts_with(&format!("{step}  "))), "step {step} in {shown}");
    }
    let counts = counts(shown.lines().last().unwrap());
    let names: Vec<_> = counts.iter().map(|(name, _)| *name).collect();
    let wanted = ["requests", "executed", "replayed", "in_progress", "conflicts", "double_effects"];
    assert_eq!(names, wanted);
    let count = |wanted| counts.iter().find(|(name, _)| *name == wanted).unwrap().1;
    assert!(count("requests") > 50, "{shown}");
    assert_eq!((count("executed"), count("conflicts"), count("double_effects")), (3, 1, 0), "{shown}");
}

#[test]
fn its_help_names_the_demo_and_the_database() {
    let Output { status, stdout, .. } = quickstart(&["--help"]);
    let shown = String::from_utf8(stdout).unwrap();
    assert!(status.success() && shown.contains("--demo") && shown.contains("postgres://"), "{shown}");
}
