//! The reference app in a process that can be killed and started again.

use std::sync::Mutex;

use idem_conformance::{Control, Need, Server};
use idem_test_support::process::Process;

/// Takes the database of the app away and gives it back.
pub(crate) trait Store: Send + Sync {
    fn take_away(&self) -> impl Future<Output = Result<(), String>> + Send;
    fn give_back(&self) -> impl Future<Output = Result<(), String>> + Send;
}

/// The running app with its database.
#[derive(Debug)]
pub(crate) struct ReferenceApp<S> {
    arguments: Vec<String>,
    /// The port that the first start got.
    address: String,
    process: tokio::sync::Mutex<Process>,
    store: S,
    killed: Mutex<bool>,
}

impl<S: Store> ReferenceApp<S> {
    /// Starts the app on a free port.
    pub(crate) async fn start(arguments: &[&str], store: S) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let (process, address) = spawn(&arguments, "127.0.0.1:0").await;
        let process = tokio::sync::Mutex::new(process);
        Self { arguments, address, process, store, killed: Mutex::new(false) }
    }

    pub(crate) fn server(&self) -> Server {
        Server::new(&format!("http://{}", self.address)).unwrap()
    }

    fn is_killed(&self) -> bool {
        *self.killed.lock().unwrap()
    }
}

async fn spawn(arguments: &[String], listen: &str) -> (Process, String) {
    let arguments = arguments.iter().map(String::as_str).chain(["--listen", listen]);
    let mut process = Process::spawn(env!("CARGO_BIN_EXE_reference"), arguments);
    let line = process.wait_for("listening on http://").await;
    let address = line.trim_start_matches("listening on http://").to_owned();
    (process, address)
}

impl<S: Store> Control for ReferenceApp<S> {
    fn lacks(&self, _: Need) -> Option<String> {
        None
    }

    async fn kill(&self) -> Result<(), String> {
        self.process.lock().await.kill().await;
        *self.killed.lock().unwrap() = true;
        Ok(())
    }

    async fn start(&self) -> Result<(), String> {
        if !self.is_killed() {
            return Err("the app is running".to_owned());
        }
        let (process, address) = spawn(&self.arguments, &self.address).await;
        if address != self.address {
            return Err(format!("the app listens on {address} instead of {}", self.address));
        }
        *self.process.lock().await = process;
        *self.killed.lock().unwrap() = false;
        Ok(())
    }

    async fn store_down(&self) -> Result<(), String> {
        self.store.take_away().await
    }

    async fn store_up(&self) -> Result<(), String> {
        self.store.give_back().await
    }
}
