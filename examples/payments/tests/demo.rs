//! Runs the demo as its readers do, and holds it to its last line.

use std::process::{Command, Output};

#[test]
fn lost_answers_and_crashes_charge_no_order_twice() {
    let demo = Command::new(env!("CARGO_BIN_EXE_payments")).arg("--demo").output().unwrap();
    let Output { status, stdout, stderr } = demo;
    let (shown, complaints) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success(), "{shown}\n{complaints}");
    let last = shown.lines().last().unwrap();
    assert!(last.starts_with("demo: requests=") && last.ends_with(" double_effects=0"), "{shown}");
    assert!(last.contains(" executed=34 ") && shown.contains("5  the provider's ledger"), "{shown}");
}
