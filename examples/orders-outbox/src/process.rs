//! The processes as the demo sees them: each says in a line where it stands.

use std::net::SocketAddr;
use std::process::Stdio;

use futures_util::FutureExt as _;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::dispatch::DELIVERING;
use crate::error::DemoError;
use crate::handlers::AT_WORK;
use crate::service::LISTENING;

/// A running process; it is killed when the value is dropped.
pub(crate) struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts the service on a free port, and waits until it listens; gives host and port.
    pub(crate) async fn service(url: &str) -> Result<(Self, String), DemoError> {
        let arguments = ["--quiet", "--listen", "127.0.0.1:0", "--database-url", url];
        let mut service = Self::start(&arguments)?;
        let line = service.wait_for(LISTENING).await?;
        Ok((service, line[LISTENING.len()..].to_owned()))
    }

    /// Starts a dispatcher whose handlers dawdle, and waits until it is up.
    pub(crate) async fn dispatcher(url: &str, provider: SocketAddr) -> Result<Self, DemoError> {
        let provider = provider.to_string();
        let arguments = ["--dispatch", "--mail-provider", &provider, "--dawdle", "30", "--database-url", url];
        let mut dispatcher = Self::start(&arguments)?;
        dispatcher.wait_for(DELIVERING).await?;
        Ok(dispatcher)
    }

    fn start(arguments: &[&str]) -> Result<Self, DemoError> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().ok_or(DemoError::ProcessEnded("its first line"))?;
        Ok(Self { child, lines: BufReader::new(stdout).lines() })
    }

    /// Waits until a handler of the dispatcher is in the middle of its work.
    pub(crate) async fn at_work(&mut self) -> Result<(), DemoError> {
        // What it said before is of handlers that have ended since.
        while self.lines.next_line().now_or_never().transpose()?.flatten().is_some() {}
        self.wait_for(AT_WORK).await.map(|_| ())
    }

    async fn wait_for(&mut self, beginning: &'static str) -> Result<String, DemoError> {
        while let Some(line) = self.lines.next_line().await? {
            if line.starts_with(beginning) {
                return Ok(line);
            }
        }
        Err(DemoError::ProcessEnded(beginning))
    }

    /// Ends it at once (SIGKILL), and waits until it is gone.
    pub(crate) async fn kill(&mut self) -> Result<(), DemoError> {
        Ok(self.child.kill().await?)
    }
}
