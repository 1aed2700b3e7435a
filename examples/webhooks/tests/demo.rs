//! Runs the demo as its readers do, and holds it to its last line.

use std::process::{Command, Output};

#[test]
fn an_event_delivered_many_times_is_booked_once_and_a_forged_one_never() {
    let demo = Command::new(env!("CARGO_BIN_EXE_webhooks")).arg("--demo").output().unwrap();
    let Output { status, stdout, stderr } = demo;
    let (shown, complaints) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success(), "{shown}\n{complaints}");
    let last = shown.lines().last().unwrap();
    assert!(
        last.starts_with("demo: requests=") && last.ends_with(" conflicts=1 double_effects=0"),
        "{shown}"
    );
    assert!(last.contains(" executed=3 ") && shown.contains("\n6  another event"), "{shown}");
}
