//! How the audit finds files, and that it survives whatever is in them.

use std::ffi::OsStr;
use std::path::Path;

use clap::Parser;
use idem_cli::Cli;

use crate::common::{idem, json, routes};

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn audited(folder: &Path, more: &[&str]) -> Vec<String> {
    routes(&json(&idem(&[&["audit", folder.to_str().unwrap(), "--json"], more].concat())))
}

const ROUTE: &str = "pub async fn act() {} pub fn router() -> axum::Router { axum::Router::new().route(\"/a\", axum::routing::post(act)) }";

#[test]
fn modules_are_found_where_the_compiler_finds_them() {
    let folder = tree(&[
        ("Cargo.toml", "[package]\nname = \"app\""),
        (
            "src/lib.rs",
            "mod one; mod two; #[path = \"elsewhere/3.rs\"] mod three; mod inline { mod four; #[path = \"5.rs\"] mod five; }",
        ),
        ("src/one.rs", "mod inner;"),
        ("src/one/inner.rs", ROUTE),
        ("src/two/mod.rs", "mod inner;"),
        ("src/two/inner.rs", ROUTE),
        ("src/elsewhere/3.rs", "mod beside;"),
        ("src/elsewhere/beside.rs", ROUTE),
        ("src/inline/four.rs", ROUTE),
        ("src/inline/5.rs", ROUTE),
    ]);
    assert_eq!(
        audited(folder.path(), &[]),
        [
            "POST /a undeclared app::three::beside::act",
            "POST /a undeclared app::inline::five::act",
            "POST /a undeclared app::inline::four::act",
            "POST /a undeclared app::one::inner::act",
            "POST /a undeclared app::two::inner::act",
        ]
    );
}

#[test]
fn every_file_that_a_module_can_have_is_read() {
    let folder = tree(&[
        ("Cargo.toml", "[package]\nname = \"app\""),
        (
            "src/lib.rs",
            "#[cfg_attr(unix, path = \"unix.rs\")] #[cfg_attr(windows, path = \"windows.rs\")] mod sys; mod r#async;",
        ),
        ("src/unix.rs", ROUTE),
        ("src/windows.rs", ROUTE),
        ("src/async.rs", ROUTE),
    ]);
    let once = "POST /a undeclared app::sys::act";
    assert_eq!(audited(folder.path(), &[]), ["POST /a undeclared app::r#async::act", once, once]);
}

#[test]
fn a_module_without_a_file_is_unresolved() {
    let folder = tree(&[("Cargo.toml", "[package]\nname = \"app\""), ("src/lib.rs", "mod generated;")]);
    assert_eq!(audited(folder.path(), &[]), ["ANY * unresolved mod app::generated"]);
}

#[test]
fn a_file_that_declares_itself_comes_to_an_end() {
    let folder = tree(&[
        ("Cargo.toml", "[package]\nname = \"app\""),
        ("src/lib.rs", "#[path = \"lib.rs\"] mod again;"),
    ]);
    assert!(audited(folder.path(), &[]).is_empty());
}

#[test]
fn a_workspace_is_its_members_and_what_they_depend_on_by_path() {
    let folder = tree(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"crates/left-out\"]"),
        (
            "crates/app/Cargo.toml",
            "[package]\nname = \"my-app\"\n[dependencies]\nother-name = { package = \"shared-parts\", path = \"../../parts\" }\nrt = { package = \"axum\", version = \"0.8\" }",
        ),
        ("crates/app/src/main.rs", "fn main() { rt::Router::new().nest(\"/api\", other_name::router()); }"),
        ("crates/app/src/bin/tool.rs", ROUTE),
        ("crates/app/src/bin/more/main.rs", ROUTE),
        ("crates/app/examples/show.rs", ROUTE),
        ("crates/left-out/Cargo.toml", "[package]\nname = \"left-out\""),
        ("crates/left-out/src/lib.rs", ROUTE),
        ("parts/Cargo.toml", "[package]\nname = \"shared-parts\""),
        ("parts/src/lib.rs", ROUTE),
    ]);
    let expected = [
        "POST /a undeclared more::act",
        "POST /a undeclared tool::act",
        "POST /api/a undeclared shared_parts::act",
    ];
    assert_eq!(audited(folder.path(), &[]), expected);
    assert_eq!(audited(folder.path(), &["--examples"]).len(), expected.len() + 1);
    let manifest = folder.path().join("Cargo.toml");
    assert_eq!(audited(&manifest, &[]), expected);
}

#[test]
fn a_long_chain_does_not_overflow_the_stack() {
    let chain = (0..3000).map(|n| format!(".route(\"/{n}\", post(act))")).collect::<Vec<_>>().concat();
    let source = format!(
        "use axum::{{Router, routing::post}}; async fn act() {{}} fn app() -> Router {{ Router::new(){chain} }}"
    );
    let folder = tree(&[("app.rs", &source)]);
    assert_eq!(audited(&folder.path().join("app.rs"), &[]).len(), 3000);
}

#[test]
fn every_file_of_this_workspace_is_survived() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = vec![root.to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() {
                if name != "target" && !name.to_string_lossy().starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                // The program itself would take a process for each.
                let audit = Cli::parse_from([OsStr::new("idem"), OsStr::new("audit"), path.as_os_str()]);
                let ended = audit.answer();
                let broken = path.starts_with(root.join("idem-cli/tests/fixtures/broken"));
                assert!(ended.is_ok() || broken, "{}: {ended:?}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn the_quickstart_declares_every_write() {
    let quickstart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/quickstart");
    assert_eq!(
        audited(&quickstart, &["--deny", "undeclared,unresolved"]),
        [
            "POST /orders idempotent quickstart::orders::create",
            "POST /payments idempotent quickstart::payments::charge",
            "POST /login exempt quickstart::service::login",
        ]
    );
}
