//! `cargo xtask sbom`: a bill of materials of each package that ships, by `cargo cyclonedx`.
//!
//! The tool writes one beside the manifest of every member of the workspace; those that ship are moved to
//! `target/sbom` and the others removed. What is written is held against what cargo itself would build.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Result;

/// What users build; the rest of the workspace is for tests and measurements.
const SHIPPED: [&str; 2] = ["idem-runtime", "idem-cli"];
/// A name that no file of the repository has.
const WRITTEN: &str = "idem-xtask-sbom";

/// Writes the bills and says where; `false` when one of them lacks a package.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let arguments = ["--format", "json", "--spec-version", "1.5", "--all-features", "--target", "all"];
    let mut tool = Command::new("cargo");
    tool.arg("cyclonedx").args(arguments).args(["--override-filename", WRITTEN]).current_dir(root);
    let status = tool.status()?;
    let written = written(root)?;
    if !status.success() {
        remove(&written)?;
        return Err("`cargo cyclonedx` failed; `cargo install cargo-cyclonedx --locked` installs it".into());
    }
    let folder = root.join("target/sbom");
    fs::create_dir_all(&folder)?;
    let mut complete = true;
    for package in SHIPPED {
        let bill = fs::read_to_string(root.join(package).join(format!("{WRITTEN}.json")))?;
        let file = folder.join(format!("{package}.cdx.json"));
        fs::write(&file, &bill)?;
        let (built, listed) = (built(root, package)?, listed(&serde_json::from_str(&bill)?));
        println!("{}: {} packages", file.display(), listed.len());
        for missing in built.difference(&listed) {
            println!("error: {} lacks {missing}", file.display());
            complete = false;
        }
    }
    remove(&written)?;
    Ok(complete)
}

/// The bills that the tool left beside the manifests.
fn written(root: &Path) -> Result<Vec<PathBuf>> {
    let metadata = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked"])
        .current_dir(root)
        .output()?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
    let manifests = metadata["packages"].as_array().into_iter().flatten();
    let manifests = manifests.filter_map(|package| package["manifest_path"].as_str());
    let bills = manifests.map(|manifest| Path::new(manifest).with_file_name(format!("{WRITTEN}.json")));
    Ok(bills.filter(|bill| bill.exists()).collect())
}

fn remove(files: &[PathBuf]) -> Result<()> {
    files.iter().try_for_each(|file| Ok(fs::remove_file(file)?))
}

/// Name and version of everything that a build of `package` compiles, with every feature and on every system.
fn built(root: &Path, package: &str) -> Result<BTreeSet<String>> {
    let tree = Command::new("cargo")
        .args(["tree", "-p", package, "--all-features", "--target", "all", "-e", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}", "--locked"])
        .current_dir(root)
        .output()?;
    if !tree.status.success() {
        return Err(format!("`cargo tree -p {package}` failed").into());
    }
    Ok(of_tree(&String::from_utf8(tree.stdout)?, package))
}

/// The lines of `cargo tree`, such as `serde v1.0.229 (*)`, without the package itself.
fn of_tree(tree: &str, package: &str) -> BTreeSet<String> {
    let lines = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        (name != package).then(|| format!("{name} {version}"))
    });
    lines.collect()
}

/// Name and version of the components of a bill.
fn listed(bill: &Value) -> BTreeSet<String> {
    let components = bill["components"].as_array().into_iter().flatten();
    components
        .filter_map(|component| {
            Some(format!("{} {}", component["name"].as_str()?, component["version"].as_str()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_is_built_and_not_listed_is_found() {
        let tree = "idem-cli v0.1.0 (/src/idem-cli)\nserde v1.0.2 (*)\nsyn v2.0.1 (proc-macro)\nsyn v3.0.0\n";
        let bill = serde_json::json!({"components": [
            {"name": "serde", "version": "1.0.2"},
            {"name": "syn", "version": "3.0.0"},
        ]});
        let (built, listed) = (of_tree(tree, "idem-cli"), listed(&bill));
        assert_eq!(built.difference(&listed).collect::<Vec<_>>(), ["syn 2.0.1"]);
    }

    #[test]
    fn what_ships_is_the_lock_file_s_own_and_has_the_cipher_and_no_tool_of_the_tests() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
        for package in SHIPPED {
            let built = built(root, package).unwrap();
            for entry in &built {
                let (name, version) = entry.split_once(' ').unwrap();
                let locked = format!("name = \"{name}\"\nversion = \"{version}\"");
                assert!(lock.contains(&locked), "{entry} is not in Cargo.lock");
            }
            let has = |name: &str| built.iter().any(|entry| entry.starts_with(&format!("{name} ")));
            assert!(has("sqlx-core") && !has("trybuild") && !has("proptest"), "{built:?}");
            assert_eq!(has("chacha20poly1305"), package == "idem-runtime", "the program has no keys");
        }
    }
}
