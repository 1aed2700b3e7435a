//! What the registry knows of a program, and the inventory that a reviewer sees.
#![cfg(feature = "sqlite")]

use std::path::Path;
use std::process::Command;

use idem_runtime::registry::{self, Kind};
use idem_runtime::sqlite::{Idempotency, Mutation};
use idem_runtime::{Error, exempt, idempotent, read_only};

#[idempotent(status = 201, route = "orders.place", fingerprint(skip(at)), lease = "5s")]
async fn place<T: Send + Sync + 'static>(
    idem: &Idempotency,
    mutation: &mut Mutation,
    at: T,
) -> Result<(), Error> {
    let _ = mutation;
    drop(at);
    Ok(())
}

trait Mails {
    async fn remind(&self);
}

impl Mails for () {
    #[exempt(reason = "a second mail does no harm", until = "2027-12-31")]
    async fn remind(&self) {}
}

struct Orders<T>(T);

impl<T> Orders<T> {
    #[read_only]
    async fn count(&self) -> usize {
        std::future::ready(size_of_val(&self.0)).await
    }
}

macro_rules! reader {
    ($name:ident) => {
        #[read_only]
        async fn $name() {}
    };
}

reader!(made);

#[test]
fn every_attribute_registers_its_function_also_one_that_is_never_instantiated() {
    // None of these is called, and `place` is never even named with a type.
    let _ = (<() as Mails>::remind, Orders::<u8>::count, made);
    let stances = registry::stances();
    let names: Vec<_> = stances.iter().map(|stance| stance.name()).collect();
    assert_eq!(names, ["count", "made", "place", "remind"]);
    let place = stances[2];
    assert_eq!(
        (place.kind(), place.route(), place.module()),
        (Kind::Idempotent, Some("orders.place"), "registry")
    );
    assert_eq!(place.options(), [("fingerprint", "(skip(at))"), ("lease", "\"5s\""), ("status", "201")]);
    assert!(place.file().ends_with("tests/registry.rs"));
    let source = include_str!("registry.rs");
    let line = source.lines().nth(place.line() as usize - 1).unwrap();
    assert!(line.starts_with("#[idempotent(status = 201"), "{line}");
}

const KEPT: &str = "IDEM_TEST_STANCES";

/// Compares with the file that the variable names, and with the inventory of this test without one.
#[test]
fn the_kept_inventory_is_that_of_the_program() {
    match std::env::var(KEPT) {
        Ok(path) => registry::assert_stances(Path::new(&path)),
        Err(_) => idem_runtime::assert_stances!("tests/golden/stances.snap"),
    }
}

/// Runs the test above in a process of its own; what it said when it failed.
fn compare(path: &Path, update: bool) -> Result<(), String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_kept_inventory_is_that_of_the_program", "--nocapture"]).env(KEPT, path);
    command.env("IDEM_UPDATE_STANCES", if update { "1" } else { "0" });
    let done = command.output().unwrap();
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

#[test]
fn a_changed_stance_fails_with_both_lines_until_it_is_accepted() {
    let path = std::env::temp_dir().join(format!("idem-stances-{}.snap", std::process::id()));
    assert!(compare(&path, false).unwrap_err().contains("IDEM_UPDATE_STANCES=1"), "a missing file");
    compare(&path, true).unwrap();
    compare(&path, false).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("registry.rs"), "no places: an unrelated edit changes nothing");
    std::fs::write(&path, text.replace("made #[read_only]", "made #[exempt(reason = \"a first version\")]"))
        .unwrap();
    let message = compare(&path, false).unwrap_err();
    assert!(message.contains("- registry::made #[exempt(reason = \"a first version\")]"), "{message}");
    assert!(message.contains("+ registry::made #[read_only]"), "{message}");
    assert!(!message.contains("registry::count"), "{message}");
    std::fs::remove_file(&path).unwrap();
}
