//! Runs the program, and makes its JSON short enough to compare.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Runs `idem` in the folder of the fixtures.
pub(crate) fn idem(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_idem")).current_dir(fixtures()).args(arguments).output().unwrap()
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The JSON of a run that gave some.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {}", stderr(output)))
}

/// Audits one source file.
pub(crate) fn audit(source: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.rs");
    std::fs::write(&path, source).unwrap();
    json(&idem(&["audit", path.to_str().unwrap(), "--json", "--today", "2026-12-01"]))
}

/// `POST /orders undeclared app::create`, one line for each route.
pub(crate) fn routes(report: &Value) -> Vec<String> {
    let line = |route: &Value| {
        let [method, path, status, handler] =
            ["method", "path", "status", "handler"].map(|name| text(route, name));
        format!("{method} {path} {status} {handler}")
    };
    report["routes"].as_array().unwrap().iter().map(line).collect()
}

/// The routes of a source whose imports are the usual ones.
pub(crate) fn routes_of(source: &str) -> Vec<String> {
    let imports =
        "use axum::{Router, routing::{get, post, put, delete, any, MethodRouter}};\nasync fn create() {}\n";
    routes(&audit(&format!("{imports}{source}")))
}

/// `IDEM001 POST /orders app::create`, one line for each finding.
pub(crate) fn findings(report: &Value) -> Vec<String> {
    let line = |finding: &Value| {
        let words = ["rule", "method", "path", "handler"].map(|name| text(finding, name));
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    report["findings"].as_array().unwrap().iter().map(line).collect()
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap()
}
