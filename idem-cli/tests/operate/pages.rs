//! What needs no database: help, completions, pages of the manual; and how the output ends.

use std::process::{Command, Stdio};

use idem_tests::OnSqlite;

use crate::at::{At, idem};

const COMMANDS: [&str; 10] =
    ["diagnose", "expire", "purge", "migrate", "list", "show", "stats", "watch", "release", "doctor"];

#[test]
fn the_help_of_each_command_has_examples_and_exit_codes() {
    for command in COMMANDS {
        let help = idem("sqlite:none", &[command, "--help"]).ended(0).out();
        for words in ["Examples:", "Exit codes:", &format!("idem {command}")] {
            assert!(help.contains(words), "{help}");
        }
    }
}

#[test]
fn completions_and_manual_name_each_command() {
    let bash = idem("sqlite:none", &["completions", "bash"]).ended(0).out();
    let man = idem("sqlite:none", &["man"]).ended(0).out();
    for command in COMMANDS.into_iter().chain(["audit", "completions", "man"]) {
        assert!(bash.contains(command), "{command}");
        assert!(man.contains(&format!("idem\\-{command}")), "{command}: {man}");
        let page = idem("sqlite:none", &["man", command]).ended(0).out();
        assert!(page.contains(command) && page.starts_with(".ie"), "{page}");
    }
    for shell in ["zsh", "fish", "powershell", "elvish"] {
        assert!(!idem("sqlite:none", &["completions", shell]).ended(0).out().is_empty());
    }
    idem("sqlite:none", &["man", "nonsense"]).ended(2);
}

#[test]
fn without_a_usable_database_the_program_ends_with_2() {
    for (url, words) in [
        ("oracle://x/y", "sqlite:, postgres: and mysql:"),
        ("nonsense", "sqlite:, postgres: and mysql:"),
        ("sqlite:/nowhere/x.sqlite", "unable to open"),
    ] {
        let ran = idem(url, &["stats"]).ended(2);
        assert!(ran.err().contains(words) && ran.out().is_empty(), "{}", ran.err());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn colours_are_for_terminals_and_a_reader_may_go_away() {
    let at = At::<OnSqlite>::fresh().await;
    at.succeed("k", b"{}").await;
    let url = at.url();
    assert!(!at.idem_on("diagnose", "k", &[]).ended(0).out().contains('\u{1b}'));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_idem"));
        command.args(arguments).env("DATABASE_URL", &url).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let coloured = run(&["migrate", "--check"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(String::from_utf8(coloured.stdout).unwrap().contains('\u{1b}'));
    let mut child = run(&["stats", "--json"]).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.len()), (Some(0), 0));
}
