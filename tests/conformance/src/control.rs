//! What a driver can do to the server besides asking it.

use std::future::Future;

use crate::case::Need;

/// Kills and starts the server, and takes its database away.
///
/// After [`start`](Self::start) the server answers at the address at which it answered before.
pub trait Control: Send + Sync {
    /// Why this cannot be done here, if it cannot.
    fn lacks(&self, need: Need) -> Option<String>;

    /// Ends the process at once, as a crash would.
    fn kill(&self) -> impl Future<Output = Result<(), String>> + Send;

    /// Starts it again, on the same database, and waits until it listens.
    fn start(&self) -> impl Future<Output = Result<(), String>> + Send;

    /// Takes the database away.
    fn store_down(&self) -> impl Future<Output = Result<(), String>> + Send;

    /// Gives it back.
    fn store_up(&self) -> impl Future<Output = Result<(), String>> + Send;
}

/// A server that is known by its URL alone.
#[derive(Debug, Clone, Copy)]
pub struct NoControl;

const REFUSED: &str = "a server that is known by its URL alone cannot be controlled";

impl Control for NoControl {
    fn lacks(&self, _: Need) -> Option<String> {
        Some(REFUSED.to_owned())
    }

    async fn kill(&self) -> Result<(), String> {
        Err(REFUSED.to_owned())
    }

    async fn start(&self) -> Result<(), String> {
        Err(REFUSED.to_owned())
    }

    async fn store_down(&self) -> Result<(), String> {
        Err(REFUSED.to_owned())
    }

    async fn store_up(&self) -> Result<(), String> {
        Err(REFUSED.to_owned())
    }
}
