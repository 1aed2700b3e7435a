//! A worker as the demo sees it: a child process that reads calls and writes messages.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::error::DemoError;
use crate::protocol::{Answer, Call, Message};

/// Nothing here takes this long; without an end a defect would look like a slow machine.
pub(crate) const TOO_LONG: Duration = Duration::from_mins(1);

/// A running worker; it is killed when the value is dropped.
pub(crate) struct Worker {
    child: Child,
    calls: ChildStdin,
    messages: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Starts this program as a worker, and waits until it takes calls.
    pub(crate) async fn start(url: &str) -> Result<Self, DemoError> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--worker", "--database-url", url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(calls), Some(messages)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(DemoError::WorkerEnded);
        };
        let mut worker = Self { child, calls, messages: BufReader::new(messages).lines() };
        match worker.receive().await? {
            Message::Ready => Ok(worker),
            other => Err(DemoError::unexpected("a worker starts", other)),
        }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Sends a call, and does not wait for its answer.
    pub(crate) async fn send(&mut self, call: &Call) -> Result<(), DemoError> {
        let line = serde_json::to_string(call)? + "\n";
        Ok(self.calls.write_all(line.as_bytes()).await?)
    }

    /// The next message.
    pub(crate) async fn receive(&mut self) -> Result<Message, DemoError> {
        let line = tokio::time::timeout(TOO_LONG, self.messages.next_line());
        let line = line.await.map_err(|_| DemoError::TooSlow)??.ok_or(DemoError::WorkerEnded)?;
        Ok(serde_json::from_str(&line)?)
    }

    /// The next answer.
    pub(crate) async fn receive_answer(&mut self) -> Result<Answer, DemoError> {
        match self.receive().await? {
            Message::Answer(answer) => Ok(answer),
            other => Err(DemoError::unexpected("a call", other)),
        }
    }

    /// Ends it at once (SIGKILL), and waits until it is gone.
    pub(crate) async fn kill(&mut self) -> Result<(), DemoError> {
        Ok(self.child.kill().await?)
    }

    /// Lets it end by itself: it does when it can read no more calls.
    pub(crate) async fn stop(self) -> Result<(), DemoError> {
        let Self { mut child, calls, messages: _ } = self;
        drop(calls);
        let status = tokio::time::timeout(TOO_LONG, child.wait()).await.map_err(|_| DemoError::TooSlow)??;
        if status.success() { Ok(()) } else { Err(DemoError::WorkerEnded) }
    }
}
