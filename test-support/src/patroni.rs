//! Three PostgreSQL servers under Patroni with etcd, and HAProxy in front, which leads clients to the primary.

mod node;

use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{AssertSqlSafe, Connection};
use tokio::process::{Child, Command};

use crate::process::Process;
use crate::server::{Place, free_ports, postgres_programs, program, until};
use node::Node;

/// The number of servers.
pub const SERVERS: usize = 3;

/// A running cluster; all of it ends when the value is dropped. Servers are counted from 0.
#[derive(Debug)]
pub struct Patroni {
    nodes: Vec<Node>,
    entrance: u16,
    helpers: Vec<Process>,
    reaper: Child,
    place: Place,
}

impl Patroni {
    /// Starts etcd, three servers in strict synchronous mode with a database `shop`, and HAProxy.
    ///
    /// # Panics
    /// When one of the packages `postgresql`, `patroni`, `etcd-server` and `haproxy` is missing, or does not start.
    pub async fn start() -> Self {
        let programs = postgres_programs();
        let patroni = program("patroni", "patroni", &["/usr/bin".into()]);
        let etcd = program("etcd", "etcd-server", &["/usr/bin".into()]);
        let haproxy = program("haproxy", "haproxy", &["/usr/sbin".into()]);
        let place = Place::of("postgres");
        let [store, peers, entrance, ports @ ..] = free_ports::<{ 3 + 2 * SERVERS }>();
        let nodes = ports.chunks(2).enumerate();
        let nodes = nodes.map(|(index, ports)| Node::new(index, [ports[0], ports[1]], &place)).collect();
        let reaper = reaper(&place);
        let mut cluster = Self { nodes, entrance, helpers: Vec::new(), reaper, place };

        let mut command = cluster.place.command(&etcd);
        let (clients, peers) = (format!("http://127.0.0.1:{store}"), format!("http://127.0.0.1:{peers}"));
        command.args(["--name", "etcd", "--data-dir", "etcd", "--log-level", "error", "--unsafe-no-fsync"]);
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.args(["--initial-cluster", &format!("etcd={peers}")]);
        cluster.start_helper("etcd", command);
        for node in &cluster.nodes {
            node.configure(&cluster.place, store, &programs);
        }
        cluster.start_server(&patroni, 0);
        cluster.a_primary_other_than(None).await;
        for index in 1..SERVERS {
            cluster.start_server(&patroni, index);
        }
        cluster.whole().await;
        cluster.execute("CREATE DATABASE shop").await;
        cluster.lead_clients(&haproxy);
        cluster.clients_reach_the_primary().await;
        cluster
    }

    fn start_server(&mut self, patroni: &Path, index: usize) {
        self.nodes[index].spawn(&self.place, patroni);
    }

    /// Passes connections on to the server that Patroni calls the primary, and cuts those to one that is not.
    fn lead_clients(&mut self, haproxy: &Path) {
        let mut settings = format!(
            "defaults
  mode tcp
  timeout connect 2s
  timeout client 5m
  timeout server 5m
listen primary
  bind 127.0.0.1:{}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
",
            self.entrance
        );
        for (index, node) in self.nodes.iter().enumerate() {
            let [port, watcher] = node.ports();
            let line = format!("  server s{index} 127.0.0.1:{port} check port {watcher}\n");
            settings.push_str(&line);
        }
        let file = self.place.path().join("haproxy.cfg");
        self.place.write(&file, &settings);
        let mut command = self.place.command(haproxy);
        // In the foreground, so that it ends with us.
        command.args(["-db", "-f"]).arg(file);
        self.start_helper("haproxy", command);
    }

    /// Until it has asked each server, HAProxy takes every one of them for the primary, in turn.
    async fn clients_reach_the_primary(&self) {
        until("HAProxy leads to the primary", async || {
            for _ in 0..2 * SERVERS {
                let mut connection = PgConnection::connect_with(&self.options()).await.ok()?;
                let standby = sqlx::query_scalar("SELECT pg_is_in_recovery()").fetch_one(&mut connection);
                if standby.await.ok()? {
                    return None;
                }
            }
            Some(())
        })
        .await;
    }

    fn start_helper(&mut self, name: &str, mut command: Command) {
        command.stderr(self.place.log(name));
        self.helpers.push(Process::start(command));
    }

    /// How a superuser connects to whichever server is the primary.
    #[must_use]
    pub fn options(&self) -> PgConnectOptions {
        superuser_at(self.entrance).database("shop")
    }

    /// The server that Patroni calls the primary, as soon as there is one that is not `former`.
    ///
    /// # Panics
    /// When there is none for two minutes.
    pub async fn a_primary_other_than(&self, former: Option<usize>) -> usize {
        until("a server becomes the primary", async || {
            for (index, node) in self.nodes.iter().enumerate() {
                if Some(index) != former && node.says_yes_to("/primary").await {
                    return Some(index);
                }
            }
            None
        })
        .await
    }

    /// Waits until one server is the primary and each other follows it, one of them synchronously.
    ///
    /// # Panics
    /// When that is not so within two minutes.
    pub async fn whole(&self) {
        until("all servers follow one primary", async || {
            let (mut primaries, mut replicas, mut synchronous) = (0, 0, 0);
            for node in &self.nodes {
                primaries += usize::from(node.says_yes_to("/primary").await);
                replicas += usize::from(node.says_yes_to("/replica").await);
                synchronous += usize::from(node.says_yes_to("/synchronous").await);
            }
            ((primaries, replicas) == (1, SERVERS - 1) && synchronous > 0).then_some(())
        })
        .await;
    }

    /// Ends a server and its Patroni at once, as the loss of their machine would.
    ///
    /// # Panics
    /// When it does not run.
    pub async fn kill(&mut self, server: usize) {
        self.nodes[server].kill().await;
    }

    /// Starts a server that was killed; it rejoins by itself.
    pub fn revive(&mut self, server: usize) {
        let patroni = program("patroni", "patroni", &["/usr/bin".into()]);
        self.start_server(&patroni, server);
    }

    /// Freezes a server and its Patroni.
    pub fn freeze(&self, server: usize) {
        self.nodes[server].signal_all(Signal::STOP);
    }

    /// Lets both go on.
    pub fn thaw(&self, server: usize) {
        self.nodes[server].signal_all(Signal::CONT);
    }

    /// Freezes what watches over a server, and leaves the server itself at work.
    pub fn freeze_watcher(&self, server: usize) {
        self.nodes[server].signal_watcher(Signal::STOP);
    }

    async fn execute(&self, sql: &str) {
        let primary = self.a_primary_other_than(None).await;
        let [port, _] = self.nodes[primary].ports();
        let options = superuser_at(port).database("postgres");
        let mut connection = PgConnection::connect_with(&options).await.expect("the server lets us in");
        let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await;
        done.unwrap_or_else(|error| panic!("the primary refuses `{sql}`: {error}"));
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        // The servers are no children of ours: Patroni starts them so that they outlive it.
        for node in &self.nodes {
            node.signal_all(Signal::KILL);
        }
        let _ = self.reaper.start_kill();
    }
}

fn superuser_at(port: u16) -> PgConnectOptions {
    let options = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(port);
    options.username("postgres").password("postgres").ssl_mode(PgSslMode::Disable)
}

/// Ends the servers should this process be killed: it waits for the end of a pipe that we hold.
fn reaper(place: &Place) -> Child {
    let script = "cat >/dev/null; for f in s*/postmaster.pid; do kill -KILL $(head -n 1 $f); done";
    let mut command = place.plain_command(Path::new("/bin/sh"));
    command.args(["-c", script]).stdin(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("a shell can be started")
}
