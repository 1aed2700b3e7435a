//! Servers that a test starts itself, where the ones of the whole run cannot be killed: clusters.
//!
//! They run on loopback in a folder of their own, and end with the value that holds them, or with the test's process.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::geteuid;
#[cfg(feature = "postgres")]
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::Command;
use uuid::Uuid;

/// How long a server may take for whatever is asked of it.
const PATIENCE: Duration = Duration::from_mins(2);

/// A folder for servers, and the user that they run as when we are root, which they refuse.
#[derive(Debug)]
pub(crate) struct Place {
    folder: TempDir,
    owner: Option<(u32, u32)>,
}

impl Place {
    /// A fresh folder that `user` can reach.
    pub(crate) fn of(user: &str) -> Self {
        let owner = geteuid().is_root().then(|| account(user));
        let parent = [std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from("/tmp")]
            .into_iter()
            .find(|folder| owner.is_none() || is_open_to_others(folder))
            .expect("a folder for temporary files can be reached by other users");
        let folder = tempfile::Builder::new().prefix("idem-cluster-").tempdir_in(parent);
        let place = Self { folder: folder.expect("a folder can be made"), owner };
        place.give(place.path());
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a folder inside, or finds it there.
    #[cfg(feature = "mysql")]
    pub(crate) fn subfolder(&self, name: &str) -> PathBuf {
        let folder = self.path().join(name);
        fs::create_dir_all(&folder).expect("a folder can be made");
        self.give(&folder);
        folder
    }

    /// Writes a file that the server may read and write.
    pub(crate) fn write(&self, file: &Path, text: &str) {
        fs::write(file, text).expect("a file can be written");
        self.give(file);
    }

    /// A fresh file that takes what a program complains of.
    #[cfg(feature = "postgres")]
    pub(crate) fn log(&self, name: &str) -> fs::File {
        fs::File::create(self.path().join(format!("{name}.log"))).expect("a log can be made")
    }

    fn give(&self, path: &Path) {
        if let Some((user, group)) = self.owner {
            chown(path, Some(user), Some(group)).expect("root gives a file away");
        }
    }

    /// A command of the server's user, without any variable of ours; the kernel kills it should we be killed.
    pub(crate) fn command(&self, program: &Path) -> Command {
        self.command_with(&["--pdeathsig", "KILL"], program)
    }

    /// The same without the kernel's help, for what has something to do when we are gone.
    #[cfg(feature = "postgres")]
    pub(crate) fn plain_command(&self, program: &Path) -> Command {
        self.command_with(&[], program)
    }

    fn command_with(&self, options: &[&str], program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        if let Some((user, group)) = self.owner {
            command.args(["--reuid", &user.to_string(), "--regid", &group.to_string(), "--clear-groups"]);
        }
        command.args(options).arg("--").arg(program).current_dir(self.path()).process_group(0);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env_clear().env("PATH", format!("{path}:/usr/sbin:/usr/bin:/sbin:/bin"));
        command
    }
}

/// Runs a command to its end.
///
/// # Panics
/// When it fails; with what it said.
pub(crate) async fn run(mut command: Command) -> String {
    let output = command.kill_on_drop(true).output().await.expect("a program can be started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {said}{complained}");
    said
}

/// Asks again until there is an answer.
///
/// # Panics
/// When there is none for two minutes.
pub(crate) async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Ports that nobody listens on; below those that Linux gives to client sockets, so that none can sit on one.
///
/// # Panics
/// When there are not enough.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    let mut taken: Vec<TcpListener> = Vec::new();
    for _ in 0..10_000 {
        if taken.len() == N {
            break;
        }
        let [high, low, ..] = *Uuid::new_v4().as_bytes();
        let port = 20_000 + u16::from_be_bytes([high, low]) % 12_000;
        taken.extend(TcpListener::bind(("127.0.0.1", port)).ok());
    }
    let ports = taken.iter().map(|listener| listener.local_addr().expect("it is bound").port());
    ports.collect::<Vec<_>>().try_into().expect("there are free ports")
}

/// The program, wherever Debian keeps it.
///
/// # Panics
/// When it is missing: a test that needs it fails and is never skipped.
pub(crate) fn program(name: &str, package: &str, folders: &[PathBuf]) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Those of Debian first: on the path it has wrappers of the same names.
    let folders = folders.iter().cloned().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file()).unwrap_or_else(|| {
        panic!("{name} is missing, and this test needs it: `apt-get install {package}`, as `cargo xtask test` does")
    })
}

/// Ends a process of ours and its children at once, as the loss of their machine would.
#[cfg(feature = "postgres")]
pub(crate) fn kill_with_children(pid: i32) {
    signal_with_children(pid, Signal::KILL);
}

/// Sends a signal to a process of ours and to its children.
#[cfg(feature = "postgres")]
pub(crate) fn signal_with_children(pid: i32, sent: Signal) {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    signal(pid, sent);
    for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
        signal(child, sent);
    }
}

/// Sends a signal to a process of ours, which may have ended.
#[cfg(feature = "postgres")]
pub(crate) fn signal(pid: i32, sent: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, sent);
    }
}

/// The folder of the newest PostgreSQL that Debian has installed, or of the one on the path.
///
/// # Panics
/// When there is none.
#[cfg(feature = "postgres")]
pub(crate) fn postgres_programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|entry| entry.path()).max_by_key(|path| number(path));
    let folders: Vec<PathBuf> = newest.map(|folder| folder.join("bin")).into_iter().collect();
    let found = program("pg_basebackup", "postgresql", &folders);
    let found = fs::canonicalize(found).expect("the program is there");
    found.parent().expect("a file has a folder").to_owned()
}

/// The user of that name in `/etc/passwd`, with its group.
fn account(user: &str) -> (u32, u32) {
    let accounts = fs::read_to_string("/etc/passwd").expect("there is a list of users");
    let line = accounts.lines().find(|line| line.split(':').next() == Some(user));
    let line = line.unwrap_or_else(|| panic!("a server refuses to run as root, and there is no user {user}"));
    let mut numbers = line.split(':').skip(2).map(|number| number.parse().expect("ids are numbers"));
    (numbers.next().expect("a user has an id"), numbers.next().expect("and a group"))
}

fn is_open_to_others(folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| {
        folder.ancestors().all(|part| part.metadata().is_ok_and(|found| found.mode() & 0o001 != 0))
    })
}
