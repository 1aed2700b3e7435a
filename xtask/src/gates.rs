//! The list of gates, in the order in which they run.

use std::path::Path;

use crate::Result;
use crate::packages::on_path;

/// One thing that must hold before a change goes in.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) name: String,
    pub(crate) work: Work,
}

#[derive(Debug)]
pub(crate) enum Work {
    /// Runs cargo with these arguments and variables.
    Cargo { arguments: Vec<String>, variables: Vec<(&'static str, String)> },
    /// Runs a program of the workspace, which the tests have built, with these arguments.
    Program { name: &'static str, arguments: Vec<String> },
    /// Checks the layout of the tree, in this process.
    Tidy,
    /// Cannot run here, and why.
    LeftOut(&'static str),
}

/// The services under `examples`.
const EXAMPLES: [&str; 7] =
    ["quickstart", "payments", "uploads", "webhooks", "tasks", "tasks-table", "orders-outbox"];

/// All gates; a new one is a line here.
pub(crate) fn all(root: &Path, database_url: &str, mysql_url: &str) -> Result<Vec<Gate>> {
    let with_server =
        |gate: Gate| gate.with("IDEM_TEST_POSTGRES_URL", database_url).with("IDEM_TEST_MYSQL_URL", mysql_url);
    let mut gates = vec![
        cargo("format", "fmt --all --check"),
        Gate { name: "tidy".to_owned(), work: Work::Tidy },
        cargo("lints", "clippy --workspace --all-targets --all-features -- -D warnings"),
    ];
    for package in ["idem-runtime", "idem-cli"] {
        let manifest = std::fs::read_to_string(root.join(package).join("Cargo.toml"))?;
        gates.extend(features(&manifest).iter().map(|feature| {
            let selection = format!("-p {package} --no-default-features --features {feature}");
            cargo(&format!("{package} with {feature} alone"), &format!("clippy {selection} -- -D warnings"))
        }));
    }
    gates.extend([
        cargo("idem-cli without a database", "clippy -p idem-cli --no-default-features -- -D warnings"),
        with_server(cargo("tests", "test --workspace --all-features")),
        // In the workspace, features that other members turn on would hide one that is missing.
        cargo("tests of the runtime alone", "clippy -p idem-runtime --all-targets -- -D warnings"),
        cargo("documentation", "doc --workspace --no-deps --all-features")
            .with("RUSTDOCFLAGS", "-D warnings"),
        cargo_deny("dependencies", "bans licenses sources"),
        // Apart from the others, as it alone needs the network.
        cargo_deny("advisories", "advisories"),
        bill_of_materials(),
        // As the README has it.
        cargo("quickstart on SQLite", "run -p quickstart -- --demo"),
        // What follows runs as it was built for the tests: without them, and their features of other crates, all of it would
        // be compiled a second time.
        cargo("programs", "build --workspace --all-features --all-targets"),
        program("faults, quick", "xtask", "faults --quick --built"),
        program("payments", "payments", "--demo"),
        program("uploads", "uploads", "--demo"),
        program("webhooks", "webhooks", "--demo"),
        program("tasks", "tasks", "--demo"),
        program("tasks-table", "tasks-table", "--demo"),
        program("orders-outbox on SQLite", "orders-outbox", "--demo"),
        program("quickstart on PostgreSQL", "quickstart", &format!("--demo --database-url {database_url}")),
        program(
            "orders-outbox on PostgreSQL",
            "orders-outbox",
            &format!("--demo --database-url {database_url}"),
        ),
    ]);
    gates.extend(EXAMPLES.map(|example| {
        let arguments = format!("audit examples/{example} --deny undeclared,unresolved");
        program(&format!("audit of {example}"), "idem", &arguments)
    }));
    Ok(gates)
}

/// A cargo command; no argument may hold a space.
fn cargo(name: &str, arguments: &str) -> Gate {
    let arguments = arguments.split_whitespace().map(str::to_owned).collect();
    Gate { name: name.to_owned(), work: Work::Cargo { arguments, variables: Vec::new() } }
}

/// A program of the workspace; no argument may hold a space.
fn program(gate: &str, name: &'static str, arguments: &str) -> Gate {
    let arguments = arguments.split_whitespace().map(str::to_owned).collect();
    Gate { name: gate.to_owned(), work: Work::Program { name, arguments } }
}

fn cargo_deny(name: &str, checks: &str) -> Gate {
    if on_path("cargo-deny").is_some() {
        cargo(name, &format!("deny check {checks}"))
    } else {
        Gate { name: name.to_owned(), work: Work::LeftOut("cargo-deny is not installed") }
    }
}

fn bill_of_materials() -> Gate {
    let name = "bill of materials";
    if on_path("cargo-cyclonedx").is_some() {
        cargo(name, "xtask sbom")
    } else {
        Gate { name: name.to_owned(), work: Work::LeftOut("cargo-cyclonedx is not installed") }
    }
}

impl Gate {
    fn with(mut self, variable: &'static str, value: &str) -> Self {
        if let Work::Cargo { variables, .. } = &mut self.work {
            variables.push((variable, value.to_owned()));
        }
        self
    }
}

/// What no user turns on alone: the defaults together, and what goes with each database of `idem-cli`.
const NEVER_ALONE: [&str; 3] = ["default", "database", "tls"];

/// The features of a manifest that a user may turn on alone, so that a new one gets its gate by itself.
fn features(manifest: &str) -> Vec<&str> {
    let section = manifest.lines().skip_while(|line| line.trim() != "[features]").skip(1);
    section
        .take_while(|line| !line.starts_with('['))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_alphanumeric()))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name.trim())
        .filter(|name| !NEVER_ALONE.contains(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_that_stands_alone_is_found() {
        let manifest = "[package]\nname = \"x\"\n\n[features]\ndefault = [\"a\"]\n# Words = words.\na = [\n  \"x/a\",\n]\n\
                        b-c = []\ndatabase = [\"dep:x\"]\n\n[dependencies]\nd = \"1\"\n";
        assert_eq!(features(manifest), ["a", "b-c"]);
        assert!(features("[package]\nname = \"x\"\n").is_empty());
    }
}
