//! The reference app in a process that can be killed and started again.

use std::sync::Mutex;

use idem_conformance::{Control, Forecast, Message, Need, Server};
use idem_runtime::Keyring;
use idem_test_support::process::Process;
use sqlx::Pool;

use crate::oracle;

/// Takes the database of the app away and gives it back.
pub(crate) trait Store: Send + Sync {
    fn take_away(&self) -> impl Future<Output = Result<(), String>> + Send;
    fn give_back(&self) -> impl Future<Output = Result<(), String>> + Send;
}

/// The running app with its database.
#[derive(Debug)]
pub(crate) struct ReferenceApp<D: idem_runtime::store::Store, S> {
    /// Straight to the database, also while it is away for the app.
    database: Pool<D>,
    arguments: Vec<String>,
    /// The port that the first start got.
    address: String,
    process: tokio::sync::Mutex<Process>,
    store: S,
    killed: Mutex<bool>,
    store_is_away: Mutex<bool>,
    keyring: Mutex<Keyring>,
}

impl<D: idem_runtime::store::Store, S: Store> ReferenceApp<D, S> {
    /// Starts the app on a free port.
    pub(crate) async fn start(arguments: &[&str], store: S, database: Pool<D>) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let (process, address) = spawn(&arguments, "127.0.0.1:0").await;
        let process = tokio::sync::Mutex::new(process);
        Self {
            database,
            arguments,
            address,
            process,
            store,
            killed: Mutex::new(false),
            store_is_away: Mutex::new(false),
            keyring: Mutex::new(Keyring::plain()),
        }
    }

    pub(crate) fn server(&self) -> Server {
        Server::new(&format!("http://{}", self.address)).unwrap()
    }

    fn is_killed(&self) -> bool {
        *self.killed.lock().unwrap()
    }

    fn keyring(&self) -> Keyring {
        self.keyring.lock().unwrap().clone()
    }
}

async fn spawn(arguments: &[String], listen: &str) -> (Process, String) {
    let arguments = arguments.iter().map(String::as_str).chain(["--listen", listen]);
    let mut process = Process::spawn(env!("CARGO_BIN_EXE_reference"), arguments);
    let line = process.wait_for("listening on http://").await;
    let address = line.trim_start_matches("listening on http://").to_owned();
    (process, address)
}

impl<D: idem_runtime::store::Store, S: Store> Control for ReferenceApp<D, S> {
    fn lacks(&self, _: Need) -> Option<String> {
        None
    }

    async fn kill(&self) -> Result<(), String> {
        self.process.lock().await.kill().await;
        *self.killed.lock().unwrap() = true;
        Ok(())
    }

    async fn start(&self, secrets: &[String]) -> Result<(), String> {
        if !self.is_killed() {
            return Err("the app is running".to_owned());
        }
        let mut arguments = self.arguments.clone();
        arguments.extend(secrets.iter().map(|secret| format!("--secret={secret}")));
        *self.keyring.lock().unwrap() = reference_app::keyring(secrets).map_err(|error| error.to_string())?;
        let (process, address) = spawn(&arguments, &self.address).await;
        if address != self.address {
            return Err(format!("the app listens on {address} instead of {}", self.address));
        }
        *self.process.lock().await = process;
        *self.killed.lock().unwrap() = false;
        Ok(())
    }

    async fn store_down(&self) -> Result<(), String> {
        *self.store_is_away.lock().unwrap() = true;
        self.store.take_away().await
    }

    async fn store_up(&self) -> Result<(), String> {
        *self.store_is_away.lock().unwrap() = false;
        self.store.give_back().await
    }

    async fn release(&self, request: &Message) -> Result<bool, String> {
        oracle::release(&self.database, request).await
    }

    async fn sweep(&self) -> Result<(), String> {
        oracle::sweep(&self.database).await
    }

    /// Nothing while the store is away, which no record can know.
    async fn foresee(&self, request: &Message) -> Option<Forecast> {
        if *self.store_is_away.lock().unwrap() {
            return None;
        }
        oracle::foresee(&self.database, &self.keyring(), request).await
    }

    async fn attempt(&self, request: &Message) -> Option<i64> {
        oracle::attempt(&self.database, request).await
    }
}
