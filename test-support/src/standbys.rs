//! A PostgreSQL primary with two synchronous standbys on loopback, of which one takes over when the primary is lost.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{AssertSqlSafe, Connection};

use crate::process::Process;
use crate::server::{Place, free_ports, kill_with_children, program, run, until};

/// The number of servers.
pub const SERVERS: usize = 3;

const DEBIAN_FOLDER: &str = "/usr/lib/postgresql";

/// A running cluster; its servers end when the value is dropped. Servers are counted from 0, the first primary.
#[derive(Debug)]
pub struct Standbys {
    servers: Vec<Option<Process>>,
    ports: [u16; SERVERS],
    primary: usize,
    programs: PathBuf,
    place: Place,
}

impl Standbys {
    /// Starts a primary, a database `shop` and two standbys, one of which must have each commit.
    ///
    /// # Panics
    /// When the package `postgresql` is missing, or a server does not start.
    pub async fn start() -> Self {
        let programs = programs();
        let place = Place::of("postgres");
        let (servers, ports) = ((0..SERVERS).map(|_| None).collect(), free_ports());
        let mut cluster = Self { servers, ports, primary: 0, programs, place };
        let mut initdb = cluster.command("initdb");
        initdb.args(["--username=postgres", "--auth=trust", "--no-instructions", "--no-sync", "--pgdata"]);
        initdb.arg(cluster.data(0));
        run(initdb).await;
        cluster.configure(0, 0);
        cluster.spawn(0);
        cluster.accepts(0).await;
        cluster.execute_in("postgres", 0, "CREATE DATABASE shop").await;
        for index in 1..SERVERS {
            let mut copy = cluster.command("pg_basebackup");
            let port = cluster.ports[0].to_string();
            copy.args(["--host=127.0.0.1", "--username=postgres", "--checkpoint=fast", "--port", &port]);
            copy.args(["--no-sync", "--pgdata"]).arg(cluster.data(index));
            run(copy).await;
            cluster.configure(index, 0);
            cluster.place.write(&cluster.data(index).join("standby.signal"), "");
            cluster.spawn(index);
            cluster.accepts(index).await;
        }
        // Not before: a commit would wait for standbys that cannot be made without one.
        cluster.wait_for_standbys().await;
        cluster
    }

    /// Where a server listens.
    #[must_use]
    pub fn address(&self, server: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[server]))
    }

    /// The server that takes writes.
    #[must_use]
    pub fn primary(&self) -> usize {
        self.primary
    }

    /// How a superuser connects to a server.
    #[must_use]
    pub fn options(&self, server: usize) -> PgConnectOptions {
        self.options_through(self.address(server))
    }

    /// The same through another address, such as that of a [`Proxy`](crate::proxy::Proxy).
    #[must_use]
    pub fn options_through(&self, address: SocketAddr) -> PgConnectOptions {
        let options = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(address.port());
        options.username("postgres").database("shop").ssl_mode(PgSslMode::Disable)
    }

    /// Ends the primary with all its processes at once, as the loss of its machine would.
    ///
    /// # Panics
    /// When it does not run.
    pub async fn kill_primary(&mut self) {
        let mut primary = self.servers[self.primary].take().expect("the primary runs");
        kill_with_children(primary.id());
        primary.wait().await;
    }

    /// Promotes the standby that has received most, lets the other one follow it, and waits until it does.
    ///
    /// # Panics
    /// When there is no standby, or it does not become a primary.
    pub async fn promote(&mut self) {
        let mut most = (-1, 0);
        for index in (0..SERVERS).filter(|index| self.servers[*index].is_some()) {
            let received = "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::bigint";
            most = most.max((self.number(index, received).await.expect("a standby answers"), index));
        }
        self.primary = most.1;
        self.execute(self.primary, "SELECT pg_promote(true, 60)").await;
        for index in (0..SERVERS).filter(|index| *index != self.primary && self.servers[*index].is_some()) {
            self.configure(index, self.primary);
            self.execute(index, "SELECT pg_reload_conf()").await;
        }
        self.wait_for_standbys().await;
    }

    /// Names those standbys as synchronous that follow the primary; all that run, since one may be promoted.
    async fn wait_for_standbys(&self) {
        let running = self.servers.iter().filter(|server| server.is_some()).count() - 1;
        until("the standbys follow", async || {
            let following = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
            let following = self.number(self.primary, following).await?;
            (usize::try_from(following) == Ok(running)).then_some(())
        })
        .await;
        let names: Vec<String> = (0..SERVERS)
            .filter(|index| *index != self.primary && self.servers[*index].is_some())
            .map(|index| format!("s{index}"))
            .collect();
        let names = format!("ANY 1 ({})", names.join(", "));
        self.execute(self.primary, &format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'")).await;
        self.execute(self.primary, "SELECT pg_reload_conf()").await;
        until("the primary waits for them", async || {
            let waits = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'";
            (self.number(self.primary, waits).await? > 0).then_some(())
        })
        .await;
    }

    /// Runs a statement as superuser.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn execute(&self, server: usize, sql: &str) {
        self.execute_in("shop", server, sql).await;
    }

    async fn execute_in(&self, database: &str, server: usize, sql: &str) {
        let options = self.options(server).database(database);
        let mut connection = PgConnection::connect_with(&options).await.expect("the server lets us in");
        let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await;
        done.unwrap_or_else(|error| panic!("server {server} refuses `{sql}`: {error}"));
    }

    async fn number(&self, server: usize, sql: &str) -> Option<i64> {
        let options = self.options(server).database("postgres");
        let mut connection = PgConnection::connect_with(&options).await.ok()?;
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut connection).await.ok()
    }

    fn data(&self, index: usize) -> PathBuf {
        self.place.path().join(format!("s{index}"))
    }

    fn command(&self, name: &str) -> tokio::process::Command {
        self.place.command(&self.programs.join(name))
    }

    fn configure(&self, index: usize, primary: usize) {
        let (port, leader, at) = (self.ports[index], self.ports[primary], self.place.path().display());
        let settings = format!(
            "port = {port}
listen_addresses = '127.0.0.1'
unix_socket_directories = '{at}'
cluster_name = 's{index}'
max_connections = 100
shared_buffers = 32MB
wal_level = replica
wal_keep_size = 256MB
hot_standby = on
synchronous_commit = on
primary_conninfo = 'host=127.0.0.1 port={leader} user=postgres application_name=s{index}'
recovery_target_timeline = 'latest'
wal_receiver_timeout = 5s
wal_retrieve_retry_interval = 200ms
"
        );
        self.place.write(&self.data(index).join("postgresql.auto.conf"), &settings);
    }

    fn spawn(&mut self, index: usize) {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data(index));
        let log =
            fs::File::create(self.place.path().join(format!("s{index}.log"))).expect("a log can be made");
        command.stderr(log);
        self.servers[index] = Some(Process::start(command));
    }

    async fn accepts(&mut self, index: usize) {
        let log = self.place.path().join(format!("s{index}.log"));
        until(&format!("server {index} starts"), async || {
            let ended = self.servers[index].as_mut().is_none_or(|server| server.has_ended().is_some());
            assert!(!ended, "server {index} has ended: {}", fs::read_to_string(&log).unwrap_or_default());
            self.number(index, "SELECT 1::bigint").await
        })
        .await;
    }
}

impl Drop for Standbys {
    fn drop(&mut self) {
        // The children of a server that is killed alone would go on for a moment, without their data.
        for server in self.servers.iter().flatten() {
            kill_with_children(server.id());
        }
    }
}

/// The folder of the newest version that Debian has installed, or of the one on the path.
pub(crate) fn programs() -> PathBuf {
    let versions = fs::read_dir(DEBIAN_FOLDER).into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|entry| entry.path()).max_by_key(|path| number(path));
    let folders: Vec<PathBuf> = newest.map(|folder| folder.join("bin")).into_iter().collect();
    let found = program("pg_basebackup", "postgresql", &folders);
    let found = fs::canonicalize(found).expect("the program is there");
    found.parent().expect("a file has a folder").to_owned()
}
