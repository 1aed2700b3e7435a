//! One PostgreSQL server and the Patroni that watches over it.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::process::Process;
use crate::server::{Place, signal, signal_with_children};

#[derive(Debug)]
pub(super) struct Node {
    index: usize,
    /// Of the server, and of its watcher's questions and answers.
    ports: [u16; 2],
    folder: PathBuf,
    watcher: Option<Process>,
}

impl Node {
    pub(super) fn new(index: usize, ports: [u16; 2], place: &Place) -> Self {
        Self { index, ports, folder: place.path().to_owned(), watcher: None }
    }

    pub(super) fn ports(&self) -> [u16; 2] {
        self.ports
    }

    fn settings(&self) -> PathBuf {
        self.folder.join(format!("s{}.yml", self.index))
    }

    fn data(&self) -> PathBuf {
        self.folder.join(format!("s{}", self.index))
    }

    /// Strict: a primary without a synchronous standby acknowledges nothing.
    pub(super) fn configure(&self, place: &Place, store: u16, programs: &Path) {
        let (index, [port, watcher]) = (self.index, self.ports);
        let (folder, data, programs) = (self.folder.display(), self.data(), programs.display());
        let data = data.display();
        let settings = format!(
            "scope: shop
name: s{index}
restapi: {{listen: '127.0.0.1:{watcher}', connect_address: '127.0.0.1:{watcher}'}}
etcd3: {{host: '127.0.0.1:{store}'}}
bootstrap:
  dcs:
    ttl: 8
    loop_wait: 1
    retry_timeout: 3
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters:
        max_connections: 100
        shared_buffers: 32MB
        wal_keep_size: 256MB
        wal_log_hints: 'on'
        synchronous_commit: 'on'
  initdb: [auth-host: trust, auth-local: trust, encoding: UTF8, locale: C.UTF-8, no-sync]
  pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust', 'local all all trust']
postgresql:
  listen: '127.0.0.1:{port}'
  connect_address: '127.0.0.1:{port}'
  data_dir: '{data}'
  bin_dir: '{programs}'
  pgpass: '{folder}/pgpass{index}'
  basebackup: [checkpoint: fast, no-sync]
  authentication:
    superuser: {{username: postgres, password: postgres}}
    replication: {{username: replicator, password: replicator}}
    rewind: {{username: rewinder, password: rewinder}}
  parameters: {{unix_socket_directories: '{folder}'}}
"
        );
        place.write(&self.settings(), &settings);
    }

    pub(super) fn spawn(&mut self, place: &Place, patroni: &Path) {
        let mut command = place.command(patroni);
        command.arg(self.settings());
        command.stderr(place.log(&format!("s{}", self.index)));
        self.watcher = Some(Process::start(command));
    }

    /// Asks the watcher, which answers 200 or 503; no answer is no.
    pub(super) async fn says_yes_to(&self, path: &str) -> bool {
        let ask = async {
            let mut connection = TcpStream::connect(("127.0.0.1", self.ports[1])).await.ok()?;
            let request = format!("GET {path} HTTP/1.0\r\n\r\n");
            connection.write_all(request.as_bytes()).await.ok()?;
            let mut answer = Vec::new();
            connection.read_to_end(&mut answer).await.ok()?;
            Some(answer.split(|byte| *byte == b' ').nth(1) == Some(b"200"))
        };
        // One that is frozen accepts connections and never answers.
        let asked = tokio::time::timeout(std::time::Duration::from_secs(2), ask).await;
        asked.ok().flatten().unwrap_or(false)
    }

    pub(super) async fn kill(&mut self) {
        let mut watcher = self.watcher.take().expect("the server runs");
        watcher.kill().await;
        self.signal_server(Signal::KILL);
        // Patroni believes the file as long as it is there, though the process may be somebody else's by then.
        let _ = fs::remove_file(self.data().join("postmaster.pid"));
    }

    pub(super) fn signal_all(&self, signal: Signal) {
        self.signal_watcher(signal);
        self.signal_server(signal);
    }

    pub(super) fn signal_watcher(&self, sent: Signal) {
        if let Some(watcher) = &self.watcher {
            signal(watcher.id(), sent);
        }
    }

    fn signal_server(&self, sent: Signal) {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        if let Some(pid) = file.lines().next().and_then(|line| line.trim().parse().ok()) {
            signal_with_children(pid, sent);
        }
    }
}
