//! A server of our own as a process: started, waited for, and stopped by its id.

mod place;

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Result;

/// How a server is stopped before it starts again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// In order: what it holds is written.
    Fast,
    /// At once: it has to recover from its log.
    Immediate,
}

pub(crate) use place::{Owner, data_folder, free_ports};

/// What a server of the tests keeps of its data in memory, in megabytes.
pub(crate) const BUFFERS: u64 = 128;

const START_WITHIN: Duration = Duration::from_mins(1);
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// The first process of a server, which ends all others with itself.
#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    stop: &'static [Signal],
}

impl Process {
    /// A server that ends at the first of these signals that it heeds.
    pub(crate) fn new(name: &'static str, child: Child, stop: &'static [Signal]) -> Self {
        Self { name, child, stop }
    }

    /// Waits until the server says that it is ready; `false` if it ended instead.
    pub(crate) async fn is_ready(&mut self, says_ready: impl Fn() -> bool) -> Result<bool> {
        let start = Instant::now();
        while start.elapsed() < START_WITHIN {
            if self.child.try_wait()?.is_some() {
                return Ok(false);
            }
            if says_ready() {
                return Ok(true);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(format!("the {} server did not get ready", self.name).into())
    }

    /// Ends the server at the first of these signals that it heeds.
    pub(crate) fn end_by(mut self, stop: &'static [Signal]) {
        self.stop = stop;
    }

    fn has_ended_within(&mut self, limit: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < limit {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The id is ours until it was waited for.
        for signal in self.stop {
            if self.has_ended_within(Duration::from_millis(1)) {
                return;
            }
            if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, *signal);
            }
            if self.has_ended_within(STOP_WITHIN) {
                return;
            }
        }
        eprintln!("the {} server with process id {} could not be stopped", self.name, self.child.id());
    }
}

/// A command of a server with no variables of ours, which would change what it does.
///
/// `last` is what the kernel sends it when we are killed and cannot stop it; Ctrl-C reaches us alone.
pub(crate) fn command(program: &Path, owner: Option<Owner>, folder: &Path, last: &str) -> Command {
    let mut command = Command::new("setpriv");
    if let Some(owner) = owner {
        let (user, group) = (owner.user.to_string(), owner.group.to_string());
        command.args(["--reuid", &user, "--regid", &group, "--clear-groups"]);
    }
    command.args(["--pdeathsig", last]).process_group(0);
    command.arg(program).current_dir(folder).stdin(Stdio::null());
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command
}
