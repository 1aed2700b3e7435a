//! Work that a caller may leave but not interrupt: it runs in the caller's task, and when it is dropped half-way
//! the rest of it runs in a task of its own.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// A future that ends once it has begun.
///
/// Without a hop to another task in the usual case; a BEGIN or a COMMIT is never dropped between its two ends.
pub(super) struct Uninterrupted<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    tasks: TaskTracker,
}

impl<T: Send + 'static> Uninterrupted<T> {
    /// Wraps `work`; what is left of it when the caller goes is counted in `tasks`.
    pub(super) fn new(tasks: &TaskTracker, work: impl Future<Output = T> + Send + 'static) -> Self {
        Self { work: Some(Box::pin(work)), tasks: tasks.clone() }
    }
}

impl<T: Send + 'static> Future for Uninterrupted<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(work) = &mut self.work else {
            // Only a caller that polls a future after its end comes here.
            return Poll::Pending;
        };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Uninterrupted<T> {
    fn drop(&mut self) {
        // Without a runtime the connection closes, the database rolls back and the lease lapses.
        if let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) {
            // What it gives is dropped inside the task, so that whatever that begins is counted before it ends.
            self.tasks.spawn_on(async move { drop(work.await) }, &runtime);
        }
    }
}
