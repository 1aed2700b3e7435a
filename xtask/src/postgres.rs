//! A PostgreSQL server of our own: fresh data, a free port, gone with the value.
//!
//! Its durability settings stay as they are in production, since the framework looks at them when it starts.

mod place;

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::Result;
use place::{Owner, data_folder, free_ports};

pub(crate) use place::programs;

const SETTINGS: &[&str] = &[
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "shared_buffers=128MB",
    "max_connections=200",
];
const START_WITHIN: Duration = Duration::from_mins(1);
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// A running server. Fields are dropped in this order: the process first, then its data.
#[derive(Debug)]
pub(crate) struct Server {
    _postmaster: Postmaster,
    port: u16,
    folder: TempDir,
}

impl Server {
    /// Makes the data folder, starts the server and waits until it accepts connections.
    pub(crate) async fn start() -> Result<Self> {
        let programs =
            programs().ok_or("the PostgreSQL server programs (initdb, postgres) were not found")?;
        let owner = Owner::needed()?;
        let folder = data_folder(owner)?;
        let data = folder.path().join("data");
        let mut initdb = command(&programs.join("initdb"), owner, folder.path());
        // Nothing of a fresh folder is worth waiting for the disk; the server itself does wait.
        let arguments = "-A trust -U postgres -E UTF8 --locale=C --no-sync -D";
        initdb.args(arguments.split(' ')).arg(&data);
        let output = tokio::process::Command::from(initdb).kill_on_drop(true).output().await?;
        if !output.status.success() {
            return Err(format!("initdb failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let mut failure = "no port was free".into();
        for port in free_ports().take(5) {
            let log = log_in(folder.path());
            let mut postgres = command(&programs.join("postgres"), owner, folder.path());
            postgres.arg("-D").arg(&data).args(["-p", &port.to_string()]);
            postgres.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
            let file = File::create(&log)?;
            let child = postgres.stdout(file.try_clone()?).stderr(file).spawn()?;
            let mut postmaster = Postmaster(child);
            if postmaster.is_ready(&data.join("postmaster.pid")).await? {
                return Ok(Self { _postmaster: postmaster, port, folder });
            }
            // Most likely somebody took the port after we looked.
            failure = format!("the server did not start:\n{}", fs::read_to_string(&log)?);
        }
        Err(failure.into())
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

fn log_in(folder: &Path) -> PathBuf {
    folder.join("log")
}

/// The process that all others of the server come from.
#[derive(Debug)]
struct Postmaster(Child);

impl Postmaster {
    /// Waits until the server says in its lock file that it is ready; `false` if it ended instead.
    async fn is_ready(&mut self, lock_file: &Path) -> Result<bool> {
        let start = Instant::now();
        while start.elapsed() < START_WITHIN {
            if self.0.try_wait()?.is_some() {
                return Ok(false);
            }
            // Asking the port instead could be answered by somebody else's server.
            let lines = fs::read_to_string(lock_file).unwrap_or_default();
            if lines.lines().nth(7).is_some_and(|status| status.trim() == "ready") {
                return Ok(true);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("the server did not get ready".into())
    }

    fn has_ended_within(&mut self, limit: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < limit {
            if self.0.try_wait().is_ok_and(|status| status.is_some()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        // Fast shutdown first, then the one that waits for nobody. The id is ours until it was waited for.
        for signal in [Signal::INT, Signal::QUIT, Signal::KILL] {
            if self.has_ended_within(Duration::from_millis(1)) {
                return;
            }
            if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, signal);
            }
            if self.has_ended_within(STOP_WITHIN) {
                return;
            }
        }
        eprintln!("the PostgreSQL server with process id {} could not be stopped", self.0.id());
    }
}

/// A command with no variables of ours, as those named PG* would change what it does.
fn command(program: &Path, owner: Option<Owner>, folder: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if let Some(owner) = owner {
        let (user, group) = (owner.user.to_string(), owner.group.to_string());
        command.args(["--reuid", &user, "--regid", &group, "--clear-groups"]);
    }
    // The kernel stops it, too, when we are killed and cannot; Ctrl-C reaches us alone.
    command.args(["--pdeathsig", "INT"]).process_group(0);
    command.arg(program).current_dir(folder).stdin(Stdio::null());
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

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
