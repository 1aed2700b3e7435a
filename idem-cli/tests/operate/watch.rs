//! `idem watch`: on a pipe, on a terminal, and how it ends.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use idem_runtime::{Mode, OnLapse};
use idem_tests::{Fixture, OnSqlite, on_every_database};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;

use crate::at::{At, check, inside, terms};

async fn one_frame_counts_by_route_and_tells_of_the_stuck<F: Fixture>() {
    let at = At::<F>::fresh().await;
    let text = at.idem(&["watch", "--once"]).ended(0).out();
    assert!(text.contains("0 records, 0 in flight\n"), "{text}");
    at.succeed("a", b"{}").await;
    at.fail("b", false, None).await;
    at.claim("at-work", inside()).await;
    at.idem(&["watch", "--once", "--interval", "1h"]).ended(0);
    at.lapse("stuck", terms(Mode::External, OnLapse::Refuse, false)).await;
    check("watch.json", at.idem(&["watch", "--once", "--json"]).ended(1).json());
    let text = at.idem(&["watch", "--once"]).ended(1).out();
    assert!(text.contains("4 records, 1 in flight, 1 stuck") && !text.contains('\u{1b}'), "{text}");
    at.execute("DROP TABLE idempotency_records").await;
    at.idem(&["watch"]).ended(2);
}

on_every_database! {
    one_frame_counts_by_route_and_tells_of_the_stuck,
}

fn watch(url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_idem"));
    command.args(["watch", "--interval", "10ms"]).args(arguments).env("DATABASE_URL", url);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn interrupt(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[track_caller]
fn assert_quiet(child: Child) {
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap().as_str()), (Some(0), ""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipe_gets_frame_after_frame_of_what_there_is_until_a_signal() {
    let at = At::<OnSqlite>::fresh().await;
    for signal in [Signal::INT, Signal::TERM] {
        let mut child = watch(&at.url(), &["--json"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut frame = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
        let before = frame()["totals"]["records"].as_i64().unwrap();
        at.succeed(&format!("{signal:?}"), b"{}").await;
        while frame()["totals"]["records"] != before + 1 {}
        interrupt(&child, signal);
        assert_quiet(child);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipe_gets_no_control_codes_and_may_be_closed() {
    let at = At::<OnSqlite>::fresh().await;
    let mut child = watch(&at.url(), &[]).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The reader goes away after the second frame.
    let text: Vec<String> = lines.map(Result::unwrap).take(5).collect();
    assert!(!text.concat().contains('\u{1b}'), "{text:?}");
    assert_eq!(text[1], "0 records, 0 in flight");
    assert_eq!((&text[2], &text[4]), (&String::new(), &text[1]));
    assert_quiet(child);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_shows_one_frame_in_place_of_another_and_is_as_before_at_the_end() {
    let at = At::<OnSqlite>::fresh().await;
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = File::options().write(true).open(name).unwrap();
    let child =
        watch(&at.url(), &[]).stdout(terminal).env("TERM", "xterm").env("NO_COLOR", "1").spawn().unwrap();
    let (mut screen, mut seen, mut bytes) = (File::from(master), String::new(), [0; 4096]);
    let mut interrupted = false;
    // A terminal whose other side is closed ends in an error.
    while let Ok(read @ 1..) = screen.read(&mut bytes) {
        seen.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        if !interrupted && seen.matches("0 records").count() > 1 {
            interrupt(&child, Signal::INT);
            interrupted = true;
        }
    }
    assert_quiet(child);
    assert!(seen.starts_with("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[H"), "{seen:?}");
    assert!(seen.matches("\u{1b}[H").count() > 1 && !seen.contains("\u{1b}[2m"), "{seen:?}");
    assert!(seen.ends_with("\u{1b}[J\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l"), "{seen:?}");
}
