//! Runs the demo as its readers do, and holds it to its last line.

use std::process::{Command, Output};

#[test]
fn tasks_are_queued_once_and_take_effect_once_although_the_service_is_killed() {
    let demo = Command::new(env!("CARGO_BIN_EXE_tasks-table")).arg("--demo").output().unwrap();
    let Output { status, stdout, stderr } = demo;
    let (shown, complaints) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success(), "{shown}\n{complaints}");
    let last = shown.lines().last().unwrap();
    assert!(last.starts_with("demo: requests=") && last.ends_with(" double_effects=0"), "{shown}");
    assert!(last.contains(" executed=5 ") && shown.contains("\n5  an export"), "{shown}");
}
