//! A PostgreSQL server of one test, which crashes and starts again when the test says so.

use std::fs;
use std::path::PathBuf;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{ConnectOptions, Connection};

use crate::process::Process;
use crate::server::{Place, free_ports, kill_with_children, postgres_programs, run, until};

/// A server on loopback; it ends when the value is dropped.
#[derive(Debug)]
pub struct RestartablePostgres {
    server: Option<Process>,
    port: u16,
    programs: PathBuf,
    place: Place,
}

impl RestartablePostgres {
    /// Starts it, with the durability that PostgreSQL has by default.
    ///
    /// # Panics
    /// When the package `postgresql` is missing, or the server does not start.
    pub async fn start() -> Self {
        let (place, [port]) = (Place::of("postgres"), free_ports());
        let mut started = Self { server: None, port, programs: postgres_programs(), place };
        let mut initdb = started.place.command(&started.programs.join("initdb"));
        initdb.args(["--username=postgres", "--auth=trust", "--no-instructions", "--no-sync", "--pgdata"]);
        initdb.arg(started.data());
        run(initdb).await;
        let at = started.place.path().display();
        let settings = format!(
            "port = {port}
listen_addresses = '127.0.0.1'
unix_socket_directories = '{at}'
max_connections = 100
shared_buffers = 32MB
"
        );
        started.place.write(&started.data().join("postgresql.auto.conf"), &settings);
        started.run().await;
        started
    }

    /// How a superuser connects to it.
    #[must_use]
    pub fn options(&self) -> PgConnectOptions {
        let options = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(self.port);
        options.username("postgres").database("postgres").ssl_mode(PgSslMode::Disable)
    }

    /// Kills all its processes at once, starts it again and waits until it has recovered.
    ///
    /// # Panics
    /// When it does not come back.
    pub async fn crash_and_restart(&mut self) {
        let mut server = self.server.take().expect("the server runs");
        kill_with_children(server.id());
        server.wait().await;
        self.run().await;
    }

    async fn run(&mut self) {
        let mut command = self.place.command(&self.programs.join("postgres"));
        command.arg("-D").arg(self.data());
        let log = self.place.path().join("server.log");
        command.stderr(self.place.log("server"));
        let server = self.server.insert(Process::start(command));
        let options = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(self.port);
        let options = options.username("postgres").database("postgres").disable_statement_logging();
        until("the server starts", async || {
            let ended = server.has_ended().is_some();
            assert!(!ended, "the server has ended: {}", fs::read_to_string(&log).unwrap_or_default());
            PgConnection::connect_with(&options).await.ok()
        })
        .await;
    }

    fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }
}

impl Drop for RestartablePostgres {
    fn drop(&mut self) {
        // The children of a server that is killed alone would go on for a moment, without their data.
        if let Some(server) = &self.server {
            kill_with_children(server.id());
        }
    }
}
