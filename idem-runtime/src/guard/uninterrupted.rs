//! Work that a caller may leave but not interrupt: it runs in the caller's task, and when it is dropped half-way
//! the rest of it runs in a task of its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

/// A future that ends once it has begun.
///
/// Without a hop to another task in the usual case; a BEGIN or a COMMIT is never dropped between its two ends.
pub(crate) struct Uninterrupted<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    tasks: TaskTracker,
    begun: Option<Begun>,
}

/// Whether work has come to the point from which on it must not be interrupted; it says so itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Begun(Arc<AtomicBool>);

impl Begun {
    /// From here on the work goes on whether or not its caller stays.
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl<T: Send + 'static> Uninterrupted<T> {
    /// Wraps `work`; what is left of it when the caller goes is counted in `tasks`.
    pub(super) fn new(tasks: &TaskTracker, work: impl Future<Output = T> + Send + 'static) -> Self {
        Self { work: Some(Box::pin(work)), tasks: tasks.clone(), begun: None }
    }

    /// The same for work that may be dropped until it has `begun`.
    #[cfg(feature = "axum")]
    pub(super) fn once(mut self, begun: Begun) -> Self {
        self.begun = Some(begun);
        self
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
        if self.begun.as_ref().is_some_and(|begun| !begun.is_set()) {
            return;
        }
        // Without a runtime the connection closes, the database rolls back and the lease lapses.
        if let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) {
            // What it gives is dropped inside the task, so that whatever that begins is counted before it ends.
            self.tasks.spawn_on(async move { drop(work.await) }, &runtime);
        }
    }
}
