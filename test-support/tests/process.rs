//! A child is read, frozen, killed, and never outlives its value.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;

use idem_test_support::process::Process;
use tokio::process::Command;

fn shell(script: &str) -> Process {
    Process::spawn("sh", ["-c", script])
}

/// The letter by which the system says what the process does.
fn state_of(id: i32) -> char {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the process is there");
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.and_then(|state| state.trim().chars().next()).expect("every process has a state")
}

#[tokio::test]
async fn a_marker_is_found_behind_other_lines() {
    let mut process = shell("echo one; echo READY 8080; echo two");
    assert_eq!(process.wait_for("READY").await, "READY 8080");
    assert_eq!(process.wait_for("two").await, "two");
    assert!(process.wait().await.success());
}

#[tokio::test]
#[should_panic(expected = "the output ended before a line `READY`")]
async fn a_marker_that_never_comes_fails_the_test() {
    shell("echo one").wait_for("READY").await;
}

#[tokio::test]
async fn lines_come_one_by_one_until_the_output_ends() {
    let mut child = shell("echo one; echo two");
    assert_eq!(child.next_line().await.as_deref(), Some("one"));
    assert_eq!(child.next_line().await.as_deref(), Some("two"));
    assert_eq!(child.next_line().await, None);
}

#[tokio::test]
async fn a_killed_child_has_no_say_in_it() {
    let mut process = shell("trap '' TERM; echo READY; exec sleep 1000");
    process.wait_for("READY").await;
    assert_eq!(process.kill().await.signal(), Some(9));
}

#[tokio::test]
async fn a_paused_child_stands_still_until_it_is_resumed() {
    let mut process = shell("echo READY; exec sleep 1000");
    process.wait_for("READY").await;
    process.pause();
    assert_eq!(state_of(process.id()), 'T');
    process.resume();
    assert_ne!(state_of(process.id()), 'T');
    process.pause();
    assert_eq!(process.kill().await.signal(), Some(9));
}

#[tokio::test]
async fn a_dropped_child_is_gone() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "echo READY; exec sleep 1000"]).stderr(writer);
    let mut process = Process::start(command);
    process.wait_for("READY").await;
    drop(process);
    // The pipe ends when nobody holds it for writing any more.
    let mut rest = String::new();
    tokio::task::spawn_blocking(move || reader.read_to_string(&mut rest)).await.unwrap().unwrap();
}
