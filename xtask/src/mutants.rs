//! `cargo xtask mutants`: changes the runtime one expression at a time, and lists the changes that no test notices.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::{Result, mariadb, packages, postgres};

/// What is changed, and how much of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The part of the runtime that is changed.
    #[arg(value_enum)]
    part: Part,
    /// One of so many shares, counted from 0, drawn evenly from all files of the part: `0/8` is every eighth mutant.
    #[arg(long)]
    shard: Option<String>,
    /// Only mutants whose name matches; the names are those of the list that an earlier run left.
    #[arg(long = "re")]
    names: Option<String>,
    /// Only list the mutants.
    #[arg(long)]
    list: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// What a request gets: decision, diagnosis, keys and policies. Its tests are those of the runtime.
    Decision,
    /// Fingerprints; likewise.
    Fingerprint,
    /// The guard, with the claim. Its tests need the databases.
    Guard,
    /// The stores, likewise.
    Stores,
}

impl Part {
    /// The modules, below `idem-runtime/src`.
    fn modules(self) -> &'static [&'static str] {
        match self {
            Self::Decision => &["decision", "diagnosis", "key", "policy"],
            Self::Fingerprint => &["fingerprint"],
            Self::Guard => &["guard"],
            Self::Stores => &["store"],
        }
    }

    /// The suites of `idem-tests` that hold it, besides the tests of the runtime.
    fn suites(self) -> &'static [&'static str] {
        match self {
            Self::Decision | Self::Fingerprint => &[],
            Self::Guard => &["contract", "guard", "http", "metrics", "security"],
            Self::Stores => &["contract", "guard", "maintenance", "outbox"],
        }
    }
}

/// Runs `cargo mutants` on a copy of the tree; whether no mutant survived.
pub(crate) async fn run(root: &Path, options: &Options) -> Result<bool> {
    if packages::on_path("cargo-mutants").is_none() {
        return Err("cargo-mutants is missing; `cargo install cargo-mutants` installs it".into());
    }
    let work = root.join("target/mutants");
    let tree = copy(root, &work.join("tree")).await?;
    let mut mutants = Command::new(env!("CARGO"));
    mutants.args(["mutants", "--in-place", "--package", "idem-runtime", "--sharding", "round-robin"]);
    mutants.args(["--timeout", "180", "--build-timeout", "900", "--output"]).arg(&work);
    for module in options.part.modules() {
        mutants.args(["--file", &format!("idem-runtime/src/{module}.rs")]);
        mutants.args(["--file", &format!("idem-runtime/src/{module}/**")]);
    }
    if let Some(shard) = &options.shard {
        mutants.args(["--shard", shard]);
    }
    if let Some(names) = &options.names {
        mutants.args(["--re", names]);
    }
    if options.list {
        mutants.arg("--list");
    }
    let mut servers = None;
    let suites = options.part.suites();
    if !suites.is_empty() {
        mutants.args(["--test-package", "idem-runtime,idem-tests", "--features"]);
        mutants.args(["idem-tests/postgres,idem-tests/mysql", "--cargo-arg=--lib"]);
        // Of every call, as otherwise each mutant compiles all the suites.
        mutants.args(suites.iter().map(|suite| format!("--cargo-arg=--test={suite}")));
        if !options.list {
            packages::install_missing().await?;
            let (postgres, mariadb) = (postgres::Server::start().await?, mariadb::Server::start().await?);
            mutants.env("IDEM_TEST_POSTGRES_URL", postgres.url()).env("IDEM_TEST_MYSQL_URL", mariadb.url());
            servers = Some((postgres, mariadb));
        }
    }
    // The copy has its own, which stays warm from run to run.
    mutants.env("CARGO_TARGET_DIR", work.join("target")).env("CARGO_INCREMENTAL", "1");
    let status = mutants.current_dir(tree).stdin(Stdio::null()).kill_on_drop(true).status().await?;
    drop(servers);
    Ok(status.success())
}

/// Copies what git knows, as it stands now.
async fn copy(root: &Path, to: &Path) -> Result<PathBuf> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().await?;
    if !listed.status.success() {
        return Err("git cannot list the files of the tree".into());
    }
    let names = String::from_utf8(listed.stdout)?;
    // What has gone since the last copy would still be found by cargo: suites, migrations.
    let list = to.with_extension("files");
    let last = std::fs::read_to_string(&list).unwrap_or_default();
    for gone in last.split_terminator('\0').filter(|name| !root.join(name).is_file()) {
        let _ = std::fs::remove_file(to.join(gone));
    }
    for name in names.split_terminator('\0') {
        let (from, file) = (root.join(name), to.join(name));
        let Ok(mut wanted) = std::fs::read(&from) else { continue };
        if name.starts_with("idem-runtime/src/") {
            wanted = spelled_out(&String::from_utf8(wanted)?).into_bytes();
        }
        // An untouched file keeps its time, and cargo does not compile it again.
        if std::fs::read(&file).is_ok_and(|there| there == wanted) {
            continue;
        }
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, wanted)?;
    }
    std::fs::write(list, names)?;
    Ok(to.to_owned())
}

/// Names the result of a statement by a word that `cargo mutants` knows: behind an alias of another name it finds no
/// value that compiles.
fn spelled_out(source: &str) -> String {
    source.replace(" StoreResult<", " sqlx::Result<").replace("type sqlx::Result<", "type StoreResult<")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_spelled_out_where_it_is_used_and_not_where_it_is_made() {
        let made = "pub type StoreResult<T> = Result<T, sqlx::Error>;";
        assert_eq!(spelled_out(made), made);
        assert_eq!(spelled_out("fn f() -> StoreResult<u8>;"), "fn f() -> sqlx::Result<u8>;");
    }
}
