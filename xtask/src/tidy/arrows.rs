//! Which module of the runtime may name which other, and who may name sqlx and axum.

use super::Finding;
use super::source::{Source, is_name_part};

const RUNTIME: &str = "idem-runtime/src/";

/// Each module may use itself and those above it. A new module gets its place here.
const ORDER: &[&str] = &[
    // No input or output up to `decision`.
    "key",
    "policy",
    "record",
    "fingerprint",
    "encryption",
    "error",
    "decision",
    "diagnosis",
    "telemetry",
    "store",
    "mutation",
    "read_pool",
    "registry",
    "guard",
    "maintenance",
    "inbox",
    "outbox",
    "nats",
    "axum",
    // What generated code calls: it sees all, and none sees it.
    "private",
];

/// Crates whose types stay in the modules named here; the root re-exports, so it may name them too.
const FOREIGN: &[(&str, &[&str])] =
    &[("sqlx", DATABASE), ("sqlx_core", DATABASE), ("axum", &["axum", "private"]), ("async_nats", &["nats"])];
const DATABASE: &[&str] = &["store", "mutation", "read_pool", "guard", "maintenance", "outbox", "private"];

pub(super) fn check(path: &str, source: &Source) -> Vec<Finding> {
    let Some(inside) = path.strip_prefix(RUNTIME) else {
        return Vec::new();
    };
    let module = inside.split(['/', '.']).next().unwrap_or_default();
    if module == "lib" {
        return Vec::new();
    }
    let Some(place) = place_of(module) else {
        return vec![Finding::error(
            1,
            format!("module `{module}` has no place in the table of tidy/arrows.rs"),
        )];
    };
    let mut findings = Vec::new();
    for (offset, _) in source.code().match_indices("crate::") {
        let line = source.line_at(offset);
        // `$crate::` in a macro is seen from outside, and `foocrate::` is a name.
        let before = &source.code()[..offset];
        if source.is_test(line) || before.ends_with(|letter| letter == '$' || is_name_part(letter)) {
            continue;
        }
        for name in names_after(&source.code()[offset + "crate::".len()..]) {
            let text = match place_of(name) {
                Some(used) if used <= place => continue,
                Some(_) => format!(
                    "`{module}` must not know `{name}`: the arrows of the runtime point the other way"
                ),
                // An exported macro of our own has no other path.
                None if name == "self" || name.starts_with("__") => continue,
                None => format!(
                    "`crate::{name}` hides which module is used; write that module, or add it to the table"
                ),
            };
            findings.push(Finding::error(line, text));
        }
    }
    for (name, modules) in FOREIGN.iter().filter(|(_, modules)| !modules.contains(&module)) {
        for (line, code) in source.lines().filter(|(line, _)| !source.is_test(*line)) {
            if names_crate(code, name) {
                let modules = modules.join(", ");
                findings.push(Finding::error(line, format!("`{name}` outside {modules} and lib.rs")));
            }
        }
    }
    findings
}

fn place_of(module: &str) -> Option<usize> {
    ORDER.iter().position(|name| *name == module)
}

/// The first names of a path or of a group such as `{a, b::{c, d}}`.
fn names_after(path: &str) -> Vec<&str> {
    let path = path.trim_start();
    let Some(group) = path.strip_prefix('{') else {
        return vec![leading_name(path)];
    };
    let mut names = vec![leading_name(group)];
    let mut depth = 1_usize;
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(leading_name(&group[at + 1..])),
            _ => {}
        }
    }
    // A comma behind the last one names nothing.
    names.retain(|name| !name.is_empty());
    names
}

fn leading_name(path: &str) -> &str {
    let path = path.trim_start();
    let end = path.find(|letter| !is_name_part(letter)).unwrap_or(path.len());
    &path[..end]
}

/// Whether the line names the crate and not a module of ours with the same name.
fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (code[..at].trim_end(), &code[at + name.len()..]);
        let ours = ["crate::", "self::", "super::"].iter().any(|start| before.ends_with(start));
        let whole = !code[..at].ends_with(is_name_part) && !after.starts_with(is_name_part);
        let imported = before.ends_with("use") && !after.trim_start().starts_with("::");
        whole && !ours && (after.trim_start().starts_with("::") || imported)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str, code: &str) -> Vec<usize> {
        let path = format!("{RUNTIME}{file}");
        check(&path, &Source::new(&path, code)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_module_uses_those_before_it() {
        assert!(
            lines(
                "guard.rs",
                "use crate::store::Store;\nuse crate::{key::Key, policy, error::{Error, Code},};"
            )
            .is_empty()
        );
        assert!(lines("store/sqlite.rs", "use crate::store::row;\npub(crate) struct A;").is_empty());
        assert!(
            lines("private.rs", "use crate::axum::replay; use crate::guard; use crate::private::x;")
                .is_empty()
        );
    }

    #[test]
    fn a_use_against_the_arrow_is_found() {
        assert_eq!(lines("key.rs", "use crate::error::Error;"), [1]);
        assert_eq!(lines("store/sqlite.rs", "\nfn f() -> crate::guard::Guard {}"), [2]);
        assert_eq!(lines("store.rs", "use crate::{\n  key::Key,\n  guard::Guard,\n};"), [1]);
        assert_eq!(lines("guard.rs", "use crate::private::x;"), [1]);
    }

    #[test]
    fn tests_macros_and_comments_are_free() {
        let tests = "#[cfg(test)]\nmod tests { use crate::guard::Guard; use sqlx::x; }";
        assert!(lines("key.rs", tests).is_empty());
        assert!(
            lines("key.rs", "macro_rules! m { () => { $crate::private::f() } }\n// crate::guard sqlx::x")
                .is_empty()
        );
    }

    #[test]
    fn an_unknown_module_and_a_name_of_the_root_are_found() {
        assert_eq!(lines("clock.rs", "fn f() {}"), [1]);
        assert_eq!(lines("guard.rs", "use crate::Error;\nuse crate::clock::now;"), [1, 2]);
        assert!(lines("lib.rs", "mod clock; pub use crate::clock::now; pub use sqlx;").is_empty());
    }

    #[test]
    fn foreign_crates_stay_where_they_belong() {
        assert!(lines("store/row.rs", "use sqlx::Row;").is_empty());
        assert!(lines("axum/replay.rs", "use axum::body::Body;").is_empty());
        assert!(lines("private.rs", "use crate::axum::replay; use axum::x; use sqlx::y;").is_empty());
        assert_eq!(
            lines("record.rs", "use sqlx::Row;\nuse sqlx as db;\nfn f(x: ::sqlx_core::Row) {}"),
            [1, 2, 3]
        );
        assert_eq!(lines("guard.rs", "use axum::body::Body;\nlet sqlx = my_axum::x;"), [1]);
    }
}
