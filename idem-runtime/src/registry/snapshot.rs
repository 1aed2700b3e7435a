//! A kept inventory: a change of stance is a change of a file, which a reviewer sees.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::stances;

const UPDATE: &str = "IDEM_UPDATE_STANCES";
const HEAD: &str =
    "# The stance of every function; a test compares it, IDEM_UPDATE_STANCES=1 writes it anew.\n";

/// Compares the stances of the whole program with a file of the application's package.
///
/// The path starts at the folder of the package's `Cargo.toml`. The file has one line per function, sorted, with
/// no line numbers, so that an unrelated edit changes nothing; it also lists functions of the crates that the
/// program is made of, for a dependency's change of stance is a change of the program. With the variable
/// `IDEM_UPDATE_STANCES` set to `1` the file is written instead. The list depends on the features that the test is
/// built with, and the stances of `#[cfg(test)]` functions are in it when it stands in a unit test.
///
/// ```no_run
/// // in a test of the application
/// idem_runtime::assert_stances!("stances.snap");
/// ```
///
/// # Panics
///
/// When the file is missing or differs; the message shows each line that was removed and added.
#[macro_export]
macro_rules! assert_stances {
    ($path:expr $(,)?) => {
        $crate::registry::assert_stances(
            ::std::path::Path::new(::core::env!("CARGO_MANIFEST_DIR")).join($path).as_path(),
        )
    };
}

/// What [`assert_stances!`](crate::assert_stances) calls, for a path of your own.
///
/// # Panics
///
/// When the file is missing or differs, or cannot be written.
#[track_caller]
pub fn assert_stances(path: &Path) {
    let now = inventory();
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        if let Err(error) = std::fs::write(path, now) {
            panic!("{} cannot be written: {error}", path.display());
        }
        return;
    }
    let kept = match std::fs::read_to_string(path) {
        Ok(kept) => kept,
        Err(error) => {
            panic!("{} cannot be read: {error}; run the test with {UPDATE}=1 to write it", path.display())
        }
    };
    if let Some(difference) = difference(&kept, &now) {
        panic!(
            "the stances differ from {}:\n{difference}run the test with {UPDATE}=1 to accept this",
            path.display()
        );
    }
}

fn inventory() -> String {
    let mut lines: Vec<String> = stances().into_iter().map(ToString::to_string).collect();
    lines.sort();
    lines.iter().fold(HEAD.to_owned(), |text, line| text + line + "\n")
}

/// The lines that only one of the two has, or `None`; comments and empty lines do not count.
fn difference(kept: &str, now: &str) -> Option<String> {
    let mut balance: BTreeMap<&str, i32> = BTreeMap::new();
    for (text, step) in [(kept, -1), (now, 1)] {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            *balance.entry(line).or_default() += step;
        }
    }
    let mut text = String::new();
    for (line, balance) in balance {
        let sign = if balance < 0 { '-' } else { '+' };
        for _ in 0..balance.abs() {
            let _ = writeln!(text, "{sign} {line}");
        }
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_difference_shows_what_was_removed_and_what_was_added() {
        let kept = "# old head\na::create #[idempotent(route = \"a\")]\na::find #[read_only]\r\n";
        let now = "# new head\na::create #[exempt(reason = \"it is only a test\")]\na::find #[read_only]\n";
        assert_eq!(
            difference(kept, now).unwrap(),
            "+ a::create #[exempt(reason = \"it is only a test\")]\n- a::create #[idempotent(route = \"a\")]\n"
        );
        assert_eq!(difference(kept, kept), None);
    }

    #[test]
    fn two_functions_of_one_name_are_two_lines() {
        assert_eq!(
            difference("a::f #[read_only]\n", "a::f #[read_only]\na::f #[read_only]\n").unwrap(),
            "+ a::f #[read_only]\n"
        );
    }
}
