//! A child process that a test can kill or freeze at a line of its output.

use std::ffi::OsStr;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// A running child; it is killed when the value is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    pid: Pid,
    lines: Lines<BufReader<ChildStdout>>,
    seen: Vec<String>,
}

impl Process {
    /// Starts `program` with `arguments`.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn spawn(program: impl AsRef<OsStr>, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Self {
        let mut command = Command::new(program);
        command.args(arguments);
        Self::start(command)
    }

    /// Starts a command that also has variables or a folder of its own.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdout = child.stdout.take().expect("stdout was asked for as a pipe");
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self {
            pid: pid.expect("a child that was not waited for has an id"),
            lines: BufReader::new(stdout).lines(),
            seen: Vec::new(),
            child,
        }
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Reads on until a line starts with `marker`, and returns that line.
    ///
    /// # Panics
    /// When the output ends before.
    pub async fn wait_for(&mut self, marker: &str) -> String {
        while let Some(line) = self.next_line().await {
            self.seen.push(line.clone());
            if line.starts_with(marker) {
                return line;
            }
        }
        panic!("the output ended before a line `{marker}`; it was: {:#?}", self.seen);
    }

    /// The next line of its output; `None` when that has ended. Nothing is lost when the wait is given up.
    ///
    /// # Panics
    /// When the output is no text.
    pub async fn next_line(&mut self) -> Option<String> {
        self.lines.next_line().await.expect("the output of the child is text")
    }

    /// Ends it at once, as a crash would (SIGKILL), and waits until it is gone.
    ///
    /// # Panics
    /// When the system refuses.
    pub async fn kill(&mut self) -> ExitStatus {
        // `start_kill` knows when the child was already waited for; then its id may be somebody else's.
        self.child.start_kill().expect("a child may be killed");
        self.wait().await
    }

    /// Waits until it ends by itself.
    ///
    /// # Panics
    /// When the system refuses.
    pub async fn wait(&mut self) -> ExitStatus {
        self.child.wait().await.expect("a child can be waited for")
    }

    /// How it ended, if it has.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Asks it to end (SIGTERM).
    ///
    /// # Panics
    /// When it has ended.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Freezes it (SIGSTOP) and returns when it stands still.
    ///
    /// # Panics
    /// When it has ended.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        // NOWAIT leaves the status for the one who waits for the end.
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.pid), stopped).expect("a child can be waited for");
        assert!(status.is_some_and(|status| status.stopped()), "the child ended and cannot be paused");
    }

    /// Lets it go on (SIGCONT).
    ///
    /// # Panics
    /// When it has ended.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        assert!(self.child.id().is_some(), "the child has ended and was waited for");
        kill_process(self.pid, signal).expect("a child may be signalled");
    }
}
