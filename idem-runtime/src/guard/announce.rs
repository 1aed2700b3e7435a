//! How dispatchers learn of an event, after the commit before which they could not see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::metrics::counter;
use tokio::sync::Notify;

use crate::guard::Inner;
use crate::store::Store;
use crate::telemetry::OUTBOX_PUBLISHED;

/// The dispatchers of this process, and whether a task is about to tell those of others.
#[derive(Debug, Default)]
pub(crate) struct Announcements {
    published: Notify,
    announcing: AtomicBool,
}

impl Announcements {
    /// What is notified at each commit that has published.
    pub(crate) fn published(&self) -> &Notify {
        &self.published
    }
}

impl<S: Store> Inner<S> {
    /// Counts events of these types, which have been committed, and wakes the dispatchers if there are any.
    pub(super) fn announce(self: &Arc<Self>, published: Vec<String>) {
        if published.is_empty() {
            return;
        }
        for event_type in published {
            counter!(OUTBOX_PUBLISHED, "event" => event_type).increment(1);
        }
        self.announcements.published.notify_waiters();
        if !S::ANNOUNCES || self.announcements.announcing.swap(true, Ordering::AcqRel) {
            return;
        }
        let inner = Arc::clone(self);
        self.tasks.spawn(async move {
            // What commits from here on is announced again, by another task.
            inner.announcements.announcing.store(false, Ordering::Release);
            let told = async {
                let mut connection = inner.connection().await?;
                let told = inner.within(S::announce(&mut connection)).await;
                if told.is_err() {
                    connection.close_on_drop();
                }
                told
            };
            if let Err(error) = told.await {
                tracing::debug!(%error, "an event could not be announced; dispatchers find it by looking");
            }
        });
    }
}
