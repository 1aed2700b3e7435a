//! A NATS server with JetStream of one test: a free port, a store of its own, gone with the value.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;

use crate::process::Process;

/// Where Debian keeps the program, which may be on no PATH of a user.
const DEBIAN: &str = "/usr/sbin/nats-server";

/// A running server; it is killed when the value is dropped.
#[derive(Debug)]
pub struct NatsServer {
    process: Option<Process>,
    port: u16,
    folder: TempDir,
}

impl NatsServer {
    /// Starts a server on a free port and waits until it listens.
    ///
    /// # Panics
    /// When the program is missing, as a test that needs it is never skipped, or does not start.
    pub async fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("idem-nats-").tempdir();
        let folder = folder.expect("the folder for temporary files is writable");
        let mut server = Self { process: None, port: 0, folder };
        server.start_again().await;
        server
    }

    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Asks it to end, and waits until it has; its store stays.
    ///
    /// # Panics
    /// When it is not running.
    pub async fn stop(&mut self) {
        let mut process = self.process.take().expect("the server is running");
        process.terminate();
        process.wait().await;
    }

    /// Starts it at the same port with what it has stored, after [`stop`](Self::stop).
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start_again(&mut self) {
        let ports = self.folder.path().join("ports");
        // What is left of an earlier run would name a process that has ended.
        let _ = std::fs::remove_dir_all(&ports);
        std::fs::create_dir(&ports).expect("the folder is ours");
        let mut command = Command::new(program());
        command.args(["--addr", "127.0.0.1", "--jetstream", "--store_dir"]).arg(self.folder.path());
        // Minus one is any free port.
        let port = if self.port == 0 { "-1".to_owned() } else { self.port.to_string() };
        command.args(["--port", &port, "--ports_file_dir"]).arg(&ports);
        command.arg("--log").arg(self.folder.path().join("log"));
        let process = Process::start(command);
        let file = ports.join(format!("nats-server_{}.ports", process.id()));
        self.process = Some(process);
        self.port = self.listening(&file).await;
    }

    /// The port, once the server has written it down, which it does when it listens.
    async fn listening(&mut self, file: &Path) -> u16 {
        loop {
            let written = std::fs::read_to_string(file).unwrap_or_default();
            let digits = written.split("nats://127.0.0.1:").nth(1).unwrap_or_default();
            let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
            if let Ok(port) = digits.parse() {
                return port;
            }
            let ended = self.process.as_mut().and_then(Process::has_ended);
            assert!(ended.is_none(), "nats-server ended: {:?}", std::fs::read_to_string(self.log()));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).map(|folder| folder.join("nats-server"));
    folders.chain([PathBuf::from(DEBIAN)]).find(|file| file.is_file()).unwrap_or_else(|| {
        panic!("this test needs nats-server: `cargo xtask test` installs Debian's package of that name")
    })
}
