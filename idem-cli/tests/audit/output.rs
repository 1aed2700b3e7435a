//! What the program prints, and how it ends.

use std::process::{Command, Stdio};

use crate::common::{code, fixtures, idem, json, stderr, stdout};

/// Compares with a file beside the fixtures; `IDEM_UPDATE_SNAPSHOTS=1` writes it anew.
fn check(name: &str, now: &str) {
    let path = fixtures().join(name);
    if std::env::var_os("IDEM_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    assert_eq!(now, std::fs::read_to_string(&path).unwrap(), "{name} has changed");
}

#[test]
fn the_table_of_a_plain_application_is_as_kept() {
    check("plain.txt", &stdout(&idem(&["audit", "plain"])));
}

#[test]
fn the_shape_of_the_json_is_as_kept() {
    let output = idem(&["audit", "idem-app", "--json", "--today", "2026-12-01"]);
    assert_eq!(json(&output)["version"], 1);
    check("idem-app.json", &stdout(&output));
}

#[test]
fn a_plain_run_only_reports() {
    assert_eq!(code(&idem(&["audit", "plain"])), 0);
}

#[test]
fn what_is_denied_decides_the_exit_code() {
    for (denied, exit) in [
        ("undeclared", 1),
        ("unresolved", 1),
        ("expired", 0),
        ("IDEM001", 1),
        ("idem006", 0),
        ("IDEM006,IDEM002", 1),
        ("all", 1),
        ("everything", 2),
    ] {
        assert_eq!(code(&idem(&["audit", "plain", "--deny", denied])), exit, "{denied}");
    }
    assert_eq!(code(&idem(&["audit", "plain", "--deny", "IDEM006", "--deny", "IDEM001"])), 1);
}

#[test]
fn broken_source_is_told_with_its_place_and_ends_with_2() {
    let output = idem(&["audit", "broken", "--deny", "all"]);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).is_empty());
    let message = stderr(&output);
    assert!(
        message.contains("broken/src/half.rs:3:") && message.contains("broken/src/open.rs:5:"),
        "{message}"
    );
}

#[test]
fn a_path_without_source_ends_with_2_and_says_what_to_name() {
    for (path, words) in [("nowhere", "no such file"), (".", "no Cargo.toml"), ("plain/src", "no Cargo.toml")]
    {
        let output = idem(&["audit", path]);
        assert_eq!(code(&output), 2, "{path}");
        assert!(stderr(&output).contains(words), "{path}: {}", stderr(&output));
    }
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let help = stdout(&idem(&["audit", "--help"]));
    for words in ["Examples:", "--deny undeclared", "--baseline", "Exit codes:"] {
        assert!(help.contains(words), "{help}");
    }
}

#[test]
fn a_reader_that_goes_away_changes_nothing() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_idem"))
        .current_dir(fixtures())
        .args(["audit", "plain", "--deny", "undeclared"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
}

#[test]
fn colours_are_for_terminals() {
    assert!(!stdout(&idem(&["audit", "plain"])).contains('\u{1b}'));
    let output = Command::new(env!("CARGO_BIN_EXE_idem"))
        .current_dir(fixtures())
        .env("CLICOLOR_FORCE", "1")
        .args(["audit", "plain"])
        .output()
        .unwrap();
    assert!(stdout(&output).contains('\u{1b}'));
}
