//! How many guarded handlers are at work, and how many more wait for their turn.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Error;

/// The places of one guard; its queue is as long as it has places.
#[derive(Debug)]
pub(super) struct Places {
    at_work: Arc<Semaphore>,
    queue: Semaphore,
}

/// A place at work; free again when it is dropped.
#[derive(Debug)]
pub(super) struct Place(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

impl Places {
    pub(super) fn new(count: usize) -> Self {
        Self { at_work: Arc::new(Semaphore::new(count)), queue: Semaphore::new(count) }
    }

    /// A place that is free for whoever comes.
    pub(super) fn free(&self) -> Option<Place> {
        Arc::clone(&self.at_work).try_acquire_owned().ok().map(Place)
    }

    /// Waits for a place in the order of arrival, unless the queue is full or `patience` ends.
    pub(super) async fn wait(&self, patience: Duration) -> Result<Place, Error> {
        let _queued = self.queue.try_acquire().map_err(|_| Error::Overloaded)?;
        let place = Arc::clone(&self.at_work).acquire_owned();
        match tokio::time::timeout(patience, place).await {
            Ok(Ok(place)) => Ok(Place(place)),
            Ok(Err(_)) | Err(_) => Err(Error::Overloaded),
        }
    }
}
