//! The whole run, with a service that keeps no promise: it must not pass.

use std::process::Command;

#[test]
fn a_service_without_a_guard_is_caught_and_its_story_told() {
    let mut driver = Command::new(env!("CARGO_BIN_EXE_faults"));
    driver.args([
        "--database",
        "sqlite",
        "--seed",
        "3",
        "--injections",
        "15",
        "--round-seconds",
        "15",
        "--break",
    ]);
    let output = driver.args(["--service", env!("CARGO_BIN_EXE_faulty-service")]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success(), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("faults: injected=") && !last.contains("double_effects=0"), "{text}");
    assert!(text.contains("DoubleEffect of Owner") && text.contains(" FAULT "), "{text}");
}

#[test]
fn the_same_seed_prints_the_same_plan_of_faults() {
    let plan = |seed: &str| {
        let mut driver = Command::new(env!("CARGO_BIN_EXE_faults"));
        let output = driver.args(["--plan", "--seed", seed]).output().unwrap();
        assert!(output.status.success());
        output.stdout
    };
    assert_eq!(plan("7"), plan("7"));
    assert_ne!(plan("7"), plan("8"));
}
