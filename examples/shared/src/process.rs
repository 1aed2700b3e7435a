//! The service as a demo sees it: a child process that says where it listens.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::error::DemoError;
use crate::service::LISTENING;

/// A running service; it is killed when the value is dropped.
#[derive(Debug)]
pub struct Service {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    folder: PathBuf,
    authority: String,
}

impl Service {
    /// Starts this program as a service on a free port with these variables, and waits until it listens.
    pub async fn start(folder: &Path, variables: &[(&str, &str)]) -> Result<Self, DemoError> {
        Self::start_at("127.0.0.1:0", folder, variables).await
    }

    async fn start_at(listen: &str, folder: &Path, variables: &[(&str, &str)]) -> Result<Self, DemoError> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--quiet", "--listen", listen, "--folder"])
            .arg(folder)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().ok_or(DemoError::ServiceEnded(LISTENING))?;
        let lines = BufReader::new(stdout).lines();
        let mut service = Self { child, lines, folder: folder.to_owned(), authority: String::new() };
        let line = service.wait_for(LISTENING).await?;
        line[LISTENING.len()..].clone_into(&mut service.authority);
        Ok(service)
    }

    /// Host and port.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Reads on until the service says a line that starts with `beginning`, and returns that line.
    pub async fn wait_for(&mut self, beginning: &'static str) -> Result<String, DemoError> {
        while let Some(line) = self.lines.next_line().await? {
            if line.starts_with(beginning) {
                return Ok(line);
            }
        }
        Err(DemoError::ServiceEnded(beginning))
    }

    /// Ends it at once (SIGKILL), and waits until it is gone.
    pub async fn kill(&mut self) -> Result<(), DemoError> {
        Ok(self.child.kill().await?)
    }

    /// Starts it again at the same address, after [`kill`](Self::kill).
    pub async fn restart(&mut self, variables: &[(&str, &str)]) -> Result<(), DemoError> {
        *self = Self::start_at(&self.authority.clone(), &self.folder.clone(), variables).await?;
        Ok(())
    }
}
