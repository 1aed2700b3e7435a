//! `cargo xtask tidy`: rules of the source tree that no lint knows.

mod arrows;
mod source;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use source::Source;

const LONG: usize = 250;
const TOO_LONG: usize = 500;
/// Code that users run, where a panic needs a reason.
const NO_UNWRAP: &[&str] = &["idem-runtime/src/", "idem-macros/src/", "idem-cli/src/", "examples/"];
const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "#[ignore"];

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    line: usize,
    text: String,
    weight: Weight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    Warning,
    Error,
}

impl Finding {
    fn error(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), weight: Weight::Error }
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Prints every finding; `false` when one of them is an error.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let mut clean = true;
    for path in rust_files(root)? {
        let text = fs::read_to_string(&path)?;
        let shown = path.strip_prefix(root)?.to_string_lossy().into_owned();
        for finding in check(&shown, &text) {
            println!("{}: {shown}:{}: {}", finding.weight, finding.line, finding.text);
            clean &= finding.weight == Weight::Warning;
        }
    }
    Ok(clean)
}

/// All Rust files but those that a build made, in a stable order.
fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let hidden = name.to_string_lossy().starts_with('.');
            if entry.file_type()?.is_dir() {
                if !hidden && name != "target" {
                    folders.push(entry.path());
                }
            } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Checks one file; `path` is relative to the root of the repository.
fn check(path: &str, text: &str) -> Vec<Finding> {
    let source = Source::new(path, text);
    let mut findings = Vec::new();
    if path == "mod.rs" || path.ends_with("/mod.rs") {
        findings.push(Finding::error(
            1,
            "`mod.rs` says nothing in a list of files; name the file like its folder",
        ));
    }
    let length = text.lines().count();
    if length > TOO_LONG {
        findings
            .push(Finding::error(length, format!("{length} lines; split the file, {TOO_LONG} is the limit")));
    } else if length > LONG {
        let text = format!("{length} lines; more than {LONG} are hard to read at a sitting");
        findings.push(Finding { line: length, text, weight: Weight::Warning });
    }
    if path.contains("src/") && !text.starts_with("//!") {
        findings.push(Finding::error(1, "the file does not begin with a `//!` sentence on its purpose"));
    }
    for (line, code) in source.lines() {
        for word in UNFINISHED.iter().filter(|word| contains_word(code, word)) {
            findings.push(Finding::error(line, format!("`{word}` does not go in")));
        }
        let for_users = NO_UNWRAP.iter().any(|folder| path.starts_with(folder));
        if for_users && !source.is_test(line) && code.contains(".unwrap()") {
            findings.push(Finding::error(
                line,
                "`.unwrap()` outside tests; return the error, or `expect` with a reason",
            ));
        }
    }
    findings.extend(arrows::check(path, &source));
    findings
}

/// Whether `word` is there and not just the end of a longer name.
fn contains_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| !code[..at].ends_with(source::is_name_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(path: &str, body: &str) -> Vec<(usize, String)> {
        let text = format!("//! Purpose.\n{body}");
        let findings = check(path, &text).into_iter().filter(|finding| finding.weight == Weight::Error);
        findings.map(|finding| (finding.line, finding.text)).collect()
    }

    fn lines(path: &str, body: &str) -> Vec<usize> {
        errors(path, body).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn a_file_is_not_called_mod() {
        assert_eq!(lines("tests/src/race/mod.rs", ""), [1]);
        assert!(lines("tests/src/race/unmod.rs", "").is_empty());
    }

    #[test]
    fn a_long_file_is_a_warning_and_a_longer_one_an_error() {
        let weights = |count: usize| {
            let text = format!("//! Purpose.\n{}", "\n".repeat(count - 1));
            check("xtask/src/x.rs", &text).iter().map(|finding| finding.weight).collect::<Vec<_>>()
        };
        assert!(weights(250).is_empty());
        assert_eq!(weights(251), [Weight::Warning]);
        assert_eq!(weights(501), [Weight::Error]);
    }

    #[test]
    fn a_file_begins_with_its_purpose() {
        assert_eq!(check("xtask/src/x.rs", "fn f() {}\n").len(), 1);
        assert!(check("ui-tests/cases/x.rs", "fn f() {}\n").is_empty());
    }

    #[test]
    fn unfinished_code_is_found_but_not_talk_of_it() {
        assert_eq!(
            lines("tests/src/x.rs", "fn f() { todo!() }\n#[ignore = \"slow\"]\nfn g() { unimplemented!() }"),
            [2, 3, 4]
        );
        assert!(lines("tests/src/x.rs", "// todo!()\nlet x = \"#[ignore]\"; not_todo!();").is_empty());
    }

    #[test]
    fn unwrap_is_for_tests() {
        let body = "fn f() { x.unwrap(); }\n#[cfg(test)]\nmod tests {\n  fn g() { x.unwrap(); }\n}\nfn h() { x.unwrap() }";
        assert_eq!(lines("idem-runtime/src/key.rs", body), [2, 7]);
        assert!(lines("idem-runtime/src/key/tests.rs", body).is_empty());
        assert!(lines("idem-runtime/src/key/parse_tests.rs", body).is_empty());
        assert!(lines("idem-runtime/tests/key.rs", body).is_empty());
        assert!(lines("test-support/src/key.rs", body).is_empty());
        assert_eq!(
            lines(
                "examples/quickstart/src/main.rs",
                "/// `x.unwrap()`\nfn f() { x.unwrap_or(1); x.unwrap() }"
            ),
            [3]
        );
    }

    #[test]
    fn a_declared_test_module_does_not_hide_what_follows() {
        assert_eq!(lines("idem-macros/src/lib.rs", "#[cfg(test)]\nmod tests;\nfn f() { x.unwrap() }"), [4]);
    }
}
