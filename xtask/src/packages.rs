//! What the gates need of the machine, and how it is installed on Debian when it is missing.

use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tokio::process::Command;

use crate::{Result, mariadb, postgres};

struct Need {
    what: &'static str,
    packages: &'static [&'static str],
    is_there: fn() -> bool,
}

const NEEDS: &[Need] = &[
    Need {
        what: "a C compiler, for the SQLite that is compiled in",
        packages: &["gcc", "libc6-dev"],
        is_there: || on_path("cc").is_some(),
    },
    Need {
        what: "the PostgreSQL server programs, for a test server of our own",
        packages: &["postgresql"],
        is_there: || postgres::programs().is_some(),
    },
    Need {
        what: "the MariaDB server programs, likewise",
        packages: &["mariadb-server"],
        is_there: || mariadb::programs().is_some(),
    },
    Need {
        what: "the NATS server, which each test of the bridge starts for itself",
        packages: &["nats-server"],
        is_there: || on_path("nats-server").is_some() || is_program(Path::new("/usr/sbin/nats-server")),
    },
    Need {
        what: "libfaketime, for processes with a wrong clock",
        packages: &["libfaketime"],
        is_there: || faketime().is_some(),
    },
    Need {
        what: "Galera and what its nodes copy their data with, for the cluster of the tests",
        packages: &["galera-4", "rsync"],
        is_there: || on_path("rsync").is_some() && Path::new("/usr/lib/galera/libgalera_smm.so").is_file(),
    },
    Need {
        what: "Patroni, etcd and HAProxy, for the cluster that decides on its own who is the primary",
        packages: &["patroni", "python3-etcd", "etcd-server", "haproxy"],
        is_there: || {
            let haproxy = on_path("haproxy").is_some() || is_program(Path::new("/usr/sbin/haproxy"));
            haproxy && on_path("patroni").is_some() && on_path("etcd").is_some()
        },
    },
];

/// Installs what is missing by apt-get, and says so before.
pub(crate) async fn install_missing() -> Result<()> {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !(need.is_there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages).copied().collect();
    let by_hand =
        format!("apt-get update && apt-get install -y --no-install-recommends {}", packages.join(" "));
    for need in &missing {
        println!("missing: {} (Debian package {})", need.what, need.packages.join(", "));
    }
    if on_path("apt-get").is_none() {
        return Err(
            format!("there is no apt-get here; install by hand what Debian installs by `{by_hand}`").into()
        );
    }
    let through_sudo = !geteuid().is_root();
    if through_sudo && on_path("sudo").is_none() {
        return Err(format!("not root, and there is no sudo; run `{by_hand}` as root").into());
    }
    println!("installing: {by_hand}{}", if through_sudo { " (through sudo)" } else { "" });
    apt_get(through_sudo, &["update"]).await?;
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(&packages);
    apt_get(through_sudo, &install).await?;
    match NEEDS.iter().find(|need| !(need.is_there)()) {
        Some(need) => {
            Err(format!("installed {}, and still found no {}", need.packages.join(", "), need.what).into())
        }
        None => Ok(()),
    }
}

async fn apt_get(through_sudo: bool, arguments: &[&str]) -> Result<()> {
    // `env` because sudo does not pass variables on.
    let line = ["sudo", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    let line = if through_sudo { &line[..] } else { &line[1..] };
    let mut command = Command::new(line[0]);
    command.args(&line[1..]).args(arguments).stdin(std::process::Stdio::null());
    let status = command.status().await?;
    if !status.success() {
        return Err(format!("`apt-get {}` failed: {status}", arguments.join(" ")).into());
    }
    Ok(())
}

/// The library that gives a program another clock, where Debian keeps it.
fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|file| file.is_file())
}

/// Where a program is that can be called by its name.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| is_program(file))
}

/// Whether the file is there and somebody may run it.
pub(crate) fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
