//! A PostgreSQL server of our own: fresh data, a free port, gone with the value.
//!
//! Its durability settings stay as they are in production, since the framework looks at them when it starts.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::Result;
use crate::packages::{is_program, on_path};
use crate::server::{BUFFERS, Owner, Process, Stop, command, data_folder, free_ports};

/// Where Debian keeps the server programs, which are on no PATH.
const DEBIAN_FOLDER: &str = "/usr/lib/postgresql";
const SETTINGS: &[&str] = &["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200"];
/// Fast shutdown first, then the one that waits for nobody.
const STOP: &[Signal] = &[Signal::INT, Signal::QUIT, Signal::KILL];

/// Without waiting for anybody, and without a checkpoint.
const IMMEDIATE: &[Signal] = &[Signal::QUIT, Signal::KILL];

/// A running server. Fields are dropped in this order: the process first, then its data.
#[derive(Debug)]
pub(crate) struct Server {
    process: Option<Process>,
    programs: PathBuf,
    owner: Option<Owner>,
    port: u16,
    buffers: u64,
    folder: TempDir,
}

impl Server {
    /// Makes the data folder, starts the server and waits until it accepts connections.
    pub(crate) async fn start() -> Result<Self> {
        Self::with_buffers(BUFFERS).await
    }

    /// The same with so many megabytes of shared buffers.
    pub(crate) async fn with_buffers(buffers: u64) -> Result<Self> {
        let programs =
            programs().ok_or("the PostgreSQL server programs (initdb, postgres) were not found")?;
        let owner = Owner::needed("postgres")?;
        let folder = data_folder("idem-postgres-", owner)?;
        let data = folder.path().join("data");
        let mut initdb = command(&programs.join("initdb"), owner, folder.path(), "INT");
        // Nothing of a fresh folder is worth waiting for the disk; the server itself does wait.
        let arguments = "-A trust -U postgres -E UTF8 --locale=C --no-sync -D";
        initdb.args(arguments.split(' ')).arg(&data);
        let output = tokio::process::Command::from(initdb).kill_on_drop(true).output().await?;
        if !output.status.success() {
            return Err(format!("initdb failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let mut server = Self { process: None, programs, owner, port: 0, buffers, folder };
        for port in free_ports().take(5) {
            server.port = port;
            if server.launch().await? {
                return Ok(server);
            }
            // Most likely somebody took the port after we looked.
        }
        Err(server.failure().into())
    }

    /// Stops the server and starts it again with the same data at the same port.
    pub(crate) async fn restart(&mut self, how: Stop) -> Result<()> {
        if let Some(process) = self.process.take() {
            process.end_by(if how == Stop::Fast { STOP } else { IMMEDIATE });
        }
        if self.launch().await? { Ok(()) } else { Err(self.failure().into()) }
    }

    /// Starts the server and waits until it accepts connections; `false` if it ended instead.
    async fn launch(&mut self) -> Result<bool> {
        let data = self.folder.path().join("data");
        let mut postgres = command(&self.programs.join("postgres"), self.owner, self.folder.path(), "INT");
        postgres.arg("-D").arg(&data).args(["-p", &self.port.to_string()]);
        postgres.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        postgres.args(["-c", &format!("shared_buffers={}MB", self.buffers)]);
        let file = File::create(self.log())?;
        let child = postgres.stdout(file.try_clone()?).stderr(file).spawn()?;
        let process = self.process.insert(Process::new("PostgreSQL", child, STOP));
        let lock_file = data.join("postmaster.pid");
        process.is_ready(|| says_ready(&lock_file)).await
    }

    fn failure(&self) -> String {
        format!("the server did not start:\n{}", fs::read_to_string(self.log()).unwrap_or_default())
    }

    /// How a superuser connects.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Where the server writes what it does.
    pub(crate) fn log(&self) -> PathBuf {
        log_in(self.folder.path())
    }
}

/// Asking the port instead could be answered by somebody else's server.
fn says_ready(lock_file: &Path) -> bool {
    let lines = fs::read_to_string(lock_file).unwrap_or_default();
    lines.lines().nth(7).is_some_and(|status| status.trim() == "ready")
}

fn log_in(folder: &Path) -> PathBuf {
    folder.join("log")
}

/// The folder with `initdb` and `postgres`: the newest of Debian's, or that on PATH.
pub(crate) fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN_FOLDER).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    folders.sort_by_key(|folder| version_of(folder));
    folders.reverse();
    folders.extend(on_path("initdb").and_then(|file| Some(file.parent()?.to_owned())));
    folders
        .into_iter()
        .find(|folder| ["initdb", "postgres"].iter().all(|name| is_program(&folder.join(name))))
}

fn version_of(folder: &Path) -> Option<u32> {
    folder.parent()?.file_name()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_is_restarted_in_either_way_listens_where_it_did() {
        let mut server = Server::start().await.unwrap();
        let url = server.url();
        for how in [Stop::Fast, Stop::Immediate] {
            server.restart(how).await.unwrap();
            assert_eq!(server.url(), url);
            std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        }
    }

    #[tokio::test]
    async fn a_server_listens_while_its_value_lives_and_leaves_nothing() {
        let server = Server::start().await.unwrap();
        let (address, log) = (("127.0.0.1", server.port), server.log());
        assert!(server.url().contains(&server.port.to_string()));
        std::net::TcpStream::connect(address).unwrap();
        assert!(log.exists());
        drop(server);
        std::net::TcpStream::connect(address).unwrap_err();
        assert!(!log.exists());
    }
}
