//! The list in docs/clippy.toml, tried on a crate that does everything that it disallows.

use std::path::Path;
use std::process::Command;

#[test]
fn clippy_finds_every_method_that_the_fragment_disallows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let fragment = std::fs::read_to_string(root.join("docs/clippy.toml")).unwrap();
    let fragment: toml::Table = fragment.parse().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--locked", "--package", "idem-clippy-fixture"])
        .current_dir(root)
        // Where clippy looks for its clippy.toml.
        .env("CLIPPY_CONF_DIR", root.join("docs"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let disallowed = fragment["disallowed-methods"].as_array().unwrap();
    assert!(!disallowed.is_empty());
    for method in disallowed {
        let path = method["path"].as_str().unwrap();
        assert!(
            said.contains(&format!("use of a disallowed method `{path}`")),
            "`{path}` is not found:\n{said}"
        );
    }
    assert!(!said.contains("does not refer to"), "a path names nothing:\n{said}");
}
