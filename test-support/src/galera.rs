//! A Galera cluster of three MariaDB nodes on loopback, of which each can be killed, frozen and cut off.

mod node;

use std::path::PathBuf;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx::{AssertSqlSafe, Connection};

use crate::server::{Place, free_ports, program, run, until};
use node::Node;

/// The number of nodes.
pub const NODES: usize = 3;

/// A running cluster; its servers end when the value is dropped. Nodes are counted from 0.
#[derive(Debug)]
pub struct Galera {
    nodes: Vec<Node>,
    server: PathBuf,
    place: Place,
}

impl Galera {
    /// Starts three nodes with fresh data and a database `shop`.
    ///
    /// `wsrep_sync_wait` is left at the server's own 0, so that whoever connects has to see to it.
    ///
    /// # Panics
    /// When the packages `mariadb-server`, `galera-4` and `rsync` are missing, or a node does not start.
    pub async fn start() -> Self {
        let server = program("mariadbd", "mariadb-server galera-4 rsync", &["/usr/sbin".into()]);
        let install = program("mariadb-install-db", "mariadb-server", &[]);
        program("rsync", "rsync", &[]);
        let provider = program("libgalera_smm.so", "galera-4", &["/usr/lib/galera".into()]);
        let place = Place::of("mysql");
        let ports: [u16; 4 * NODES] = free_ports();
        let nodes = (0..NODES).map(|index| Node::new(index, &ports, &place, &provider)).collect();
        let mut cluster = Self { nodes, server, place };
        cluster.install(install).await;
        cluster.spawn(0, &["--wsrep-new-cluster"]);
        cluster.synced(0).await;
        cluster.execute(0, "CREATE DATABASE shop CHARACTER SET utf8mb4").await;
        // One after the other: a donor serves one at a time, and whoever finds none waits for long.
        for index in 1..NODES {
            cluster.start_node(index).await;
        }
        cluster
    }

    /// Makes the data of the first node, of which the others begin with a copy.
    async fn install(&self, program: PathBuf) {
        let mut install = self.place.command(&program);
        install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        install
            .arg("--innodb-log-file-size=16M")
            .arg(format!("--datadir={}", self.nodes[0].data().display()));
        run(install).await;
        for node in &self.nodes[1..] {
            let mut copy = self.place.command("cp".as_ref());
            copy.arg("-r").arg(self.nodes[0].data()).arg(node.data());
            run(copy).await;
        }
    }

    fn spawn(&mut self, index: usize, arguments: &[&str]) {
        let mut command = self.place.command(&self.server);
        command.arg(self.nodes[index].defaults()).args(arguments);
        self.nodes[index].spawn(command);
    }

    /// How a superuser connects to a node.
    #[must_use]
    pub fn options(&self, node: usize) -> MySqlConnectOptions {
        let options = MySqlConnectOptions::new().host("127.0.0.1").port(self.nodes[node].port());
        options.username("root").database("shop").ssl_mode(MySqlSslMode::Disabled)
    }

    /// Runs a statement as superuser, outside of any database.
    ///
    /// # Panics
    /// When the node refuses.
    pub async fn execute(&self, node: usize, sql: &str) {
        let options = self.options(node).database("mysql");
        let mut connection = MySqlConnection::connect_with(&options).await.expect("the node lets us in");
        let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await;
        done.unwrap_or_else(|error| panic!("node {node} refuses `{sql}`: {error}"));
    }

    /// A status variable of the node, or `None` when it does not answer.
    pub async fn status(&self, node: usize, name: &str) -> Option<String> {
        let ask = async {
            let options = self.options(node).database("mysql");
            let mut connection = MySqlConnection::connect_with(&options).await.ok()?;
            // Not `SHOW STATUS` of a prepared statement: a node without quorum refuses to prepare.
            let sql = format!("SHOW GLOBAL STATUS LIKE '{name}'");
            let row = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(&mut connection).await.ok()?;
            sqlx::Row::try_get_unchecked::<String, _>(&row, 1).ok()
        };
        tokio::time::timeout(std::time::Duration::from_secs(2), ask).await.ok()?
    }

    /// Waits until the node has all that the cluster has.
    ///
    /// # Panics
    /// When it does not get there within two minutes, or its server ends.
    pub async fn synced(&mut self, node: usize) {
        until(&format!("node {node} joins"), async || {
            self.nodes[node].assert_runs();
            let state = self.status(node, "wsrep_local_state_comment").await?;
            (state == "Synced" && self.status(node, "wsrep_ready").await? == "ON").then_some(())
        })
        .await;
    }

    /// Waits until the node says that it belongs to no primary component.
    ///
    /// # Panics
    /// When it does not within two minutes.
    pub async fn has_no_quorum(&self, node: usize) {
        until(&format!("node {node} loses its quorum"), async || {
            (self.status(node, "wsrep_cluster_status").await? != "Primary").then_some(())
        })
        .await;
    }

    /// Waits until the node sees `size` members.
    ///
    /// # Panics
    /// When it does not within two minutes.
    pub async fn has_size(&self, node: usize, size: usize) {
        until(&format!("node {node} sees {size} members"), async || {
            (self.status(node, "wsrep_cluster_size").await? == size.to_string()).then_some(())
        })
        .await;
    }

    /// Ends a node at once, as a crash would.
    ///
    /// # Panics
    /// When it does not run.
    pub async fn kill(&mut self, node: usize) {
        self.nodes[node].kill().await;
    }

    /// Starts a node that was killed, without waiting for it.
    pub fn spawn_node(&mut self, node: usize) {
        self.spawn(node, &[]);
    }

    /// Starts a node that was killed, and waits until it has all that the cluster has.
    ///
    /// # Panics
    /// When it does not get there.
    pub async fn start_node(&mut self, node: usize) {
        self.spawn(node, &[]);
        self.synced(node).await;
    }

    /// Freezes a node: it keeps its connections and answers nobody.
    ///
    /// # Panics
    /// When it does not run.
    pub fn freeze(&self, node: usize) {
        self.nodes[node].process().pause();
    }

    /// Lets a frozen node go on.
    ///
    /// # Panics
    /// When it does not run.
    pub fn thaw(&self, node: usize) {
        self.nodes[node].process().resume();
    }

    /// Cuts a node off from the others; its clients still reach it.
    ///
    /// # Panics
    /// When the node refuses.
    pub async fn isolate(&self, node: usize) {
        self.execute(node, "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'").await;
    }

    /// Ends `isolate`.
    ///
    /// # Panics
    /// When the node refuses.
    pub async fn reconnect(&self, node: usize) {
        self.execute(node, "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'").await;
    }

    /// Starts a cluster of which all nodes were killed, from the one that has got furthest, as an operator does.
    ///
    /// # Panics
    /// When a node runs, or does not start.
    pub async fn recover(&mut self) {
        let mut furthest = (-1, 0);
        for (index, node) in self.nodes.iter().enumerate() {
            let mut recover = self.place.command(&self.server);
            recover.args([node.defaults(), "--wsrep-recover".to_owned(), node.recovery_argument()]);
            run(recover).await;
            furthest = furthest.max((node.recovered_position(), index));
        }
        let first = furthest.1;
        for node in &self.nodes {
            node.forget_view();
        }
        self.nodes[first].allow_bootstrap();
        self.spawn(first, &["--wsrep-new-cluster"]);
        self.synced(first).await;
        for index in (0..NODES).filter(|index| *index != first) {
            self.start_node(index).await;
        }
    }
}
