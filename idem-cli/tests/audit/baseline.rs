//! The ratchet: what is known is tolerated, what is new fails, what is gone is told.

use std::path::{Path, PathBuf};

use crate::common::{code, findings, idem, json, stdout};

struct App {
    folder: tempfile::TempDir,
}

impl App {
    fn new(routes: &str) -> Self {
        let app = Self { folder: tempfile::tempdir().unwrap() };
        app.write(routes);
        app
    }

    fn write(&self, routes: &str) {
        let text = format!(
            "use axum::{{Router, routing::post}};\nasync fn a() {{}}\nasync fn b() {{}}\n\
             fn app() -> Router {{ Router::new(){routes} }}\n"
        );
        std::fs::write(self.source(), text).unwrap();
    }

    fn source(&self) -> PathBuf {
        self.folder.path().join("app.rs")
    }

    fn baseline(&self) -> PathBuf {
        self.folder.path().join("baseline.json")
    }

    fn audit(&self, more: &[&str]) -> std::process::Output {
        let source = self.source();
        idem(&[&["audit", shown(&source)], more].concat())
    }

    fn keep(&self) {
        assert_eq!(code(&self.audit(&["--write-baseline", shown(&self.baseline())])), 0);
    }

    fn ratchet(&self, more: &[&str]) -> std::process::Output {
        let baseline = self.baseline();
        self.audit(&[&["--baseline", shown(&baseline)], more].concat())
    }
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

const A: &str = ".route(\"/a\", post(a))";
const B: &str = ".route(\"/b\", post(b))";

#[test]
fn a_known_finding_is_tolerated_wherever_it_moves() {
    let app = App::new(A);
    app.keep();
    app.write(&format!("\n\n// Other lines.\n\n{A}"));
    let output = app.ratchet(&["--deny", "all"]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert!(stdout(&output).contains("0 findings, 1 more in the baseline"));
}

#[test]
fn a_new_finding_fails_without_deny() {
    let app = App::new(A);
    app.keep();
    app.write(&format!("{A}{B}"));
    let output = app.ratchet(&["--json"]);
    assert_eq!(code(&output), 1);
    let report = json(&output);
    let known: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|finding| finding["known"] == true).collect();
    assert_eq!(findings(&report), ["IDEM001 POST /a app::a", "IDEM001 POST /b app::b"]);
    assert_eq!(known, [true, false]);
}

#[test]
fn deny_narrows_what_a_baseline_fails_on() {
    let app = App::new(A);
    app.keep();
    app.write(&format!("{A}{B}"));
    assert_eq!(code(&app.ratchet(&["--deny", "unresolved"])), 0);
    assert_eq!(code(&app.ratchet(&["--deny", "undeclared"])), 1);
}

#[test]
fn a_finding_like_a_known_one_is_new_all_the_same() {
    let app = App::new(".merge(x::r())");
    app.keep();
    app.write(".merge(x::r()).merge(x::r())");
    assert_eq!(code(&app.ratchet(&[])), 1);
}

#[test]
fn what_is_found_no_more_is_told_and_does_not_fail() {
    let app = App::new(&format!("{A}{B}"));
    app.keep();
    app.write(A);
    let output = app.ratchet(&[]);
    assert_eq!(code(&output), 0);
    assert!(stdout(&output).contains("IDEM001 POST /b app::b"), "{}", stdout(&output));
    let vanished = json(&app.ratchet(&["--json"]))["vanished"].clone();
    assert_eq!(vanished[0]["path"], "/b");
    assert_eq!(vanished.as_array().unwrap().len(), 1);
}

#[test]
fn an_expired_exemption_is_in_no_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("baseline.json");
    let write = ["audit", "expired", "--today", "2028-01-01", "--write-baseline", shown(&path)];
    assert_eq!(code(&idem(&write)), 1);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\n  \"version\": 1,\n  \"findings\": []\n}\n");
    assert_eq!(code(&idem(&["audit", "expired", "--today", "2028-01-01", "--baseline", shown(&path)])), 1);
}

#[test]
fn a_baseline_that_cannot_be_read_is_bad_use() {
    let app = App::new(A);
    assert_eq!(code(&app.ratchet(&[])), 2);
    for text in
        ["", "{}", "{\"version\": 2, \"findings\": []}", "{\"version\": 1, \"findings\": [{\"rule\": 1}]}"]
    {
        std::fs::write(app.baseline(), text).unwrap();
        assert_eq!(code(&app.ratchet(&[])), 2, "{text}");
    }
}
