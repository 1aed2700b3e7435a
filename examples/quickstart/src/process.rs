//! The service as the demo sees it: a child process that says where it listens and where it stands still.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::error::DemoError;
use crate::service::{LISTENING, STALLED};

/// A running service; it is killed when the value is dropped.
pub(crate) struct Service {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// Host and port.
    pub(crate) authority: String,
}

impl Service {
    /// Starts this program as a service on a free port, and waits until it listens.
    pub(crate) async fn start(url: &str) -> Result<Self, DemoError> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--quiet", "--listen", "127.0.0.1:0", "--database-url", url])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().ok_or(DemoError::ServiceEnded(LISTENING))?;
        let mut service = Self { child, lines: BufReader::new(stdout).lines(), authority: String::new() };
        let line = service.wait_for(LISTENING).await?;
        line[LISTENING.len()..].clone_into(&mut service.authority);
        Ok(service)
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Waits until a request stands still in its body.
    pub(crate) async fn stalled(&mut self) -> Result<(), DemoError> {
        self.wait_for(STALLED).await.map(|_| ())
    }

    async fn wait_for(&mut self, beginning: &'static str) -> Result<String, DemoError> {
        while let Some(line) = self.lines.next_line().await? {
            if line.starts_with(beginning) {
                return Ok(line);
            }
        }
        Err(DemoError::ServiceEnded(beginning))
    }

    /// Ends it at once (SIGKILL), and waits until it is gone.
    pub(crate) async fn kill(&mut self) -> Result<(), DemoError> {
        Ok(self.child.kill().await?)
    }
}
