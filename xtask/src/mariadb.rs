//! A MariaDB server of our own: fresh data, a free port, gone with the value.
//!
//! Its durability settings stay as they are in production, since the framework looks at them when it starts.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::Result;
use crate::packages::{is_program, on_path};
use crate::server::{BUFFERS, Owner, Process, Stop, command, data_folder, free_ports};

const SETTINGS: &[&str] =
    &["--bind-address=127.0.0.1", "--skip-networking=0", "--skip-name-resolve", "--max-connections=400"];
const STOP: &[Signal] = &[Signal::TERM, Signal::KILL];
/// Where Debian keeps the server program, which may be on no PATH of a user.
const DEBIAN_FOLDER: &str = "/usr/sbin";

/// It knows no other way to stop without writing anything.
const IMMEDIATE: &[Signal] = &[Signal::KILL];

/// A running server. Fields are dropped in this order: the process first, then its data.
#[derive(Debug)]
pub(crate) struct Server {
    process: Option<Process>,
    program: PathBuf,
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

    /// The same with so many megabytes of buffer pool.
    pub(crate) async fn with_buffers(buffers: u64) -> Result<Self> {
        let programs =
            programs().ok_or("the MariaDB programs (mariadbd, mariadb-install-db) were not found")?;
        let owner = Owner::needed("mysql")?;
        let folder = data_folder("idem-mariadb-", owner)?;
        let data = folder.path().join("data");
        let data_argument = format!("--datadir={}", data.display());
        let mut install = command(&programs.install, owner, folder.path(), "TERM");
        install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        install.arg(&data_argument);
        let output = tokio::process::Command::from(install).kill_on_drop(true).output().await?;
        if !output.status.success() {
            return Err(
                format!("mariadb-install-db failed: {}", String::from_utf8_lossy(&output.stderr)).into()
            );
        }
        let mut server = Self { process: None, program: programs.server, owner, port: 0, buffers, folder };
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
        let (folder, log) = (self.folder.path(), self.log());
        let mut mariadbd = command(&self.program, self.owner, folder, "TERM");
        mariadbd.args(["--no-defaults", &format!("--datadir={}", folder.join("data").display())]);
        mariadbd.arg(format!("--port={}", self.port)).args(SETTINGS);
        mariadbd.arg(format!("--innodb-buffer-pool-size={}M", self.buffers));
        mariadbd.arg(format!("--socket={}", folder.join("socket").display()));
        mariadbd.arg(format!("--pid-file={}", folder.join("pid").display()));
        let file = File::create(&log)?;
        let child = mariadbd.stdout(file.try_clone()?).stderr(file).spawn()?;
        let process = self.process.insert(Process::new("MariaDB", child, STOP));
        process.is_ready(|| says_ready(&log)).await
    }

    fn failure(&self) -> String {
        format!("the server did not start:\n{}", fs::read_to_string(self.log()).unwrap_or_default())
    }

    /// How a superuser connects.
    pub(crate) fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}/mysql", self.port)
    }

    /// Where the server writes what it does.
    pub(crate) fn log(&self) -> PathBuf {
        log_in(self.folder.path())
    }
}

/// Asking the port instead could be answered by somebody else's server.
fn says_ready(log: &Path) -> bool {
    fs::read_to_string(log).is_ok_and(|log| log.contains("ready for connections"))
}

fn log_in(folder: &Path) -> PathBuf {
    folder.join("log")
}

/// The programs of a server.
#[derive(Debug)]
pub(crate) struct Programs {
    server: PathBuf,
    install: PathBuf,
}

/// The programs, if both are installed.
pub(crate) fn programs() -> Option<Programs> {
    let debian = Some(Path::new(DEBIAN_FOLDER).join("mariadbd")).filter(|file| is_program(file));
    let server = on_path("mariadbd").or(debian)?;
    Some(Programs { server, install: on_path("mariadb-install-db")? })
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
