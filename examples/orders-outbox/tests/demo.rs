//! Runs the demo as its readers do, and holds it to its last line.

use std::process::{Command, Output};

fn orders_outbox(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_orders-outbox")).args(arguments).output().unwrap()
}

/// The numbers of `demo: requests=N replayed=N ...`, by name and in order.
fn counts(line: &str) -> Vec<(&str, u64)> {
    let counts = line.strip_prefix("demo: ").expect("the last line is the result");
    counts
        .split(' ')
        .map(|count| count.split_once('=').unwrap())
        .map(|(n, c)| (n, c.parse().unwrap()))
        .collect()
}

#[test]
fn killed_dispatchers_lose_nothing_and_do_nothing_twice() {
    let Output { status, stdout, stderr } = orders_outbox(&["--demo"]);
    let (shown, complaints) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success(), "{shown}\n{complaints}");
    for step in 1..=3 {
        assert!(shown.lines().any(|line| line.starts_with(&format!("{step}  "))), "step {step} in {shown}");
    }
    let counts = counts(shown.lines().last().unwrap());
    let names: Vec<_> = counts.iter().map(|(name, _)| *name).collect();
    let wanted = [
        "requests",
        "replayed",
        "orders",
        "events",
        "taken_again",
        "mails",
        "asked_again",
        "lost_answers",
        "out_of_order",
        "double_effects",
        "lost",
    ];
    assert_eq!(names, wanted);
    let count = |wanted| counts.iter().find(|(name, _)| *name == wanted).unwrap().1;
    let orders = count("orders");
    assert!(orders >= 40, "{shown}");
    assert_eq!((count("events"), count("mails")), (2 * orders, orders), "{shown}");
    assert!(count("requests") >= 3 * orders && count("replayed") >= 2 * orders, "{shown}");
    assert!(count("taken_again") > 0 && count("asked_again") > 0 && count("lost_answers") > 0, "{shown}");
    assert_eq!((count("out_of_order"), count("double_effects"), count("lost")), (0, 0, 0), "{shown}");
}

#[test]
fn its_help_names_the_demo_and_the_database() {
    let Output { status, stdout, .. } = orders_outbox(&["--help"]);
    let shown = String::from_utf8(stdout).unwrap();
    assert!(status.success() && shown.contains("--demo") && shown.contains("postgres://"), "{shown}");
}
