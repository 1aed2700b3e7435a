//! One server of the cluster: its settings, its files and its process.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::NODES;
use crate::process::Process;
use crate::server::Place;

#[derive(Debug)]
pub(super) struct Node {
    folder: PathBuf,
    port: u16,
    process: Option<Process>,
}

impl Node {
    /// Writes the settings; each node has a port for clients and three for the cluster.
    pub(super) fn new(index: usize, ports: &[u16; 4 * NODES], place: &Place, provider: &Path) -> Self {
        let folder = place.subfolder(&format!("n{index}"));
        let of = |node: usize, which: usize| ports[4 * node + which];
        let [port, group, state, transfer] = [0, 1, 2, 3].map(|which| of(index, which));
        let members =
            (0..NODES).map(|node| format!("127.0.0.1:{}", of(node, 1))).collect::<Vec<_>>().join(",");
        let at = folder.display();
        let provider = provider.display();
        // A member that is silent is given up after two seconds, not five, so that a test need not wait.
        let settings = format!(
            "[mysqld]
datadir={at}/data
tmpdir={at}
socket={at}/socket
pid-file={at}/pid
log-error={at}/log.err
port={port}
bind-address=127.0.0.1
skip-name-resolve
server-id={id}
max_connections=200
performance_schema=OFF
binlog_format=ROW
default_storage_engine=InnoDB
innodb_autoinc_lock_mode=2
innodb_log_file_size=16M
innodb_buffer_pool_size=32M
innodb_flush_log_at_trx_commit=1
wsrep_on=ON
wsrep_provider={provider}
wsrep_cluster_name=idem
wsrep_cluster_address=gcomm://{members}
wsrep_node_name=n{index}
wsrep_node_address=127.0.0.1:{group}
wsrep_node_incoming_address=127.0.0.1:{port}
wsrep_sst_method=rsync
wsrep_sst_receive_address=127.0.0.1:{transfer}
wsrep_slave_threads=2
wsrep_provider_options=\"base_host=127.0.0.1;base_port={group};gmcast.listen_addr=tcp://127.0.0.1:{group};\
ist.recv_addr=127.0.0.1:{state};gcache.size=32M;gcache.recover=yes;pc.recovery=yes;evs.suspect_timeout=PT2S;\
evs.inactive_timeout=PT4S;evs.keepalive_period=PT0.5S;evs.inactive_check_period=PT0.5S\"
",
            id = index + 1
        );
        place.write(&folder.join("settings"), &settings);
        Self { folder, port, process: None }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The argument that names the settings.
    pub(super) fn defaults(&self) -> String {
        format!("--defaults-file={}", self.folder.join("settings").display())
    }

    pub(super) fn spawn(&mut self, command: Command) {
        assert!(self.process.is_none(), "the node runs already");
        self.process = Some(Process::start(command));
    }

    pub(super) fn process(&self) -> &Process {
        self.process.as_ref().expect("the node runs")
    }

    pub(super) async fn kill(&mut self) {
        self.process.take().expect("the node runs").kill().await;
    }

    /// # Panics
    /// When the server has ended; with the end of its log.
    pub(super) fn assert_runs(&mut self) {
        if self.process.as_mut().is_none_or(|process| process.has_ended().is_some()) {
            let log = fs::read_to_string(self.folder.join("log.err")).unwrap_or_default();
            let last: Vec<&str> = log.lines().rev().take(20).collect();
            panic!("the node has ended: {:#?}", last.into_iter().rev().collect::<Vec<_>>());
        }
    }

    /// Where a recovery writes the position that it found.
    fn recovery_log(&self) -> PathBuf {
        self.folder.join("recovery.err")
    }

    pub(super) fn recovery_argument(&self) -> String {
        format!("--log-error={}", self.recovery_log().display())
    }

    /// The number of the last transaction that a recovery has found in the data.
    pub(super) fn recovered_position(&self) -> i64 {
        let log = fs::read_to_string(self.recovery_log()).expect("a recovery writes a log");
        let line =
            log.lines().rfind(|line| line.contains("Recovered position:")).expect("it names the position");
        let number = line.rsplit(':').next().expect("a line has an end").split([',', ' ']).next();
        number.and_then(|number| number.trim().parse().ok()).expect("the position ends with a number")
    }

    /// Without the last view, nobody waits for the members that it names.
    pub(super) fn forget_view(&self) {
        let _ = fs::remove_file(self.data().join("gvwstate.dat"));
    }

    pub(super) fn allow_bootstrap(&self) {
        let file = self.data().join("grastate.dat");
        let state = fs::read_to_string(&file).expect("a node keeps its state");
        let state = state.replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1");
        fs::write(file, state).expect("the state can be written");
    }
}
