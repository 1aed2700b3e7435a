//! A dispatcher or receiver at work, and what a dispatcher has done.

use std::ops::AddAssign;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::deliver::Fate;

/// A dispatcher, or a receiver of messages, that runs in a task; dropped, it stops without being waited for.
#[derive(Debug)]
pub struct Running {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn new(stop: CancellationToken, task: JoinHandle<()>) -> Self {
        Self { stop, task: Some(task) }
    }

    /// Takes no more events or messages, and waits until all that it holds are delivered or put back.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "a dispatcher or receiver did not end by itself");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// How many deliveries ended in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivered {
    /// Events that all handlers have.
    pub delivered: u64,
    /// Deliveries that failed or could not be made, and will be repeated.
    pub postponed: u64,
    /// Events that were given up.
    pub dead: u64,
}

impl Delivered {
    pub(super) fn count(&mut self, fate: Fate) {
        match fate {
            Fate::Delivered => self.delivered += 1,
            Fate::Failed | Fate::PutOff => self.postponed += 1,
            Fate::Dead => self.dead += 1,
            Fate::Lost => {}
        }
    }
}

impl AddAssign for Delivered {
    fn add_assign(&mut self, other: Self) {
        self.delivered += other.delivered;
        self.postponed += other.postponed;
        self.dead += other.dead;
    }
}
