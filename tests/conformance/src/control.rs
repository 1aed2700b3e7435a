//! What a driver can do to the server besides asking it.

use std::future::Future;

use crate::case::Need;
use crate::foresight::Forecast;
use crate::message::Message;

/// Kills and starts the server, and takes its database away.
///
/// After [`start`](Self::start) the server answers at the address at which it answered before.
pub trait Control: Send + Sync {
    /// Why this cannot be done here, if it cannot.
    fn lacks(&self, need: Need) -> Option<String>;

    /// Ends the process at once, as a crash would.
    fn kill(&self) -> impl Future<Output = Result<(), String>> + Send;

    /// Starts it again, on the same database, and waits until it listens.
    ///
    /// Fingerprints are sealed with the first of `secrets`, if there are any, and the others are still accepted.
    fn start(&self, secrets: &[String]) -> impl Future<Output = Result<(), String>> + Send;

    /// Takes the database away.
    fn store_down(&self) -> impl Future<Output = Result<(), String>> + Send;

    /// Gives it back.
    fn store_up(&self) -> impl Future<Output = Result<(), String>> + Send;

    /// Gives the key of a request back, as an operator would; `false` when there is nothing to give back.
    fn release(&self, request: &Message) -> impl Future<Output = Result<bool, String>> + Send;

    /// Expires and purges what is past its life.
    fn sweep(&self) -> impl Future<Output = Result<(), String>> + Send;

    /// Says what a request will get, where the driver can know.
    fn foresee(&self, _: &Message) -> impl Future<Output = Option<Forecast>> + Send {
        async { None }
    }

    /// The attempt in the record of a request's key.
    fn attempt(&self, _: &Message) -> impl Future<Output = Option<i64>> + Send {
        async { None }
    }
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

    async fn start(&self, _: &[String]) -> Result<(), String> {
        Err(REFUSED.to_owned())
    }

    async fn store_down(&self) -> Result<(), String> {
        Err(REFUSED.to_owned())
    }

    async fn store_up(&self) -> Result<(), String> {
        Err(REFUSED.to_owned())
    }

    async fn release(&self, _: &Message) -> Result<bool, String> {
        Err(REFUSED.to_owned())
    }

    async fn sweep(&self) -> Result<(), String> {
        Err(REFUSED.to_owned())
    }
}
