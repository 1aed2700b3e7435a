//! The statements of a dispatcher, each on a connection and in a turn of its own.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::guard::{Inner, Lane};
use crate::store::{EventChange, EventToken, Outbox, StoreResult, StoredEvent};

/// The outbox as a dispatcher sees it.
#[derive(Debug)]
pub(super) struct Queue<S: Outbox> {
    inner: Arc<Inner<S>>,
    lease: Duration,
}

/// Runs one statement on a lane of its own, whose connection is closed when its state is in doubt.
macro_rules! on_a_lane {
    ($inner:expr, |$connection:ident| $statement:expr) => {{
        let mut lane: Lane<S> = $inner.lane().await?;
        let $connection = lane.connection($inner).await?;
        let done = $inner.within($statement).await;
        if let Err(error) = &done {
            lane.doubt(error);
        }
        done
    }};
}

/// A change by the holder; `false`: somebody else holds the event by now.
pub(super) async fn change_event<S: Outbox>(
    inner: &Inner<S>,
    token: EventToken,
    change: &EventChange,
) -> StoreResult<bool> {
    on_a_lane!(inner, |connection| S::change(connection, token, change))
}

impl<S: Outbox> Queue<S> {
    pub(super) fn new(inner: Arc<Inner<S>>, lease: Duration) -> Self {
        Self { inner, lease }
    }

    /// At most `batch` events that are due.
    pub(super) async fn take(&self, batch: u32) -> StoreResult<Vec<StoredEvent>> {
        on_a_lane!(&self.inner, |connection| S::take(connection, Uuid::new_v4(), self.lease, batch))
    }

    /// The event behind `done` in the order of its aggregate, if it is due.
    pub(super) async fn take_behind(&self, done: &StoredEvent) -> StoreResult<Option<StoredEvent>> {
        let Some(aggregate) = &done.event.aggregate else { return Ok(None) };
        let tenant = &done.event.tenant;
        on_a_lane!(&self.inner, |connection| S::take_next(
            connection,
            Uuid::new_v4(),
            self.lease,
            tenant,
            aggregate
        ))
    }

    /// As [`change_event`].
    pub(super) async fn change(&self, token: EventToken, change: &EventChange) -> StoreResult<bool> {
        change_event(&self.inner, token, change).await
    }

    /// Another lease from now.
    pub(super) async fn extend(&self, token: EventToken) -> StoreResult<bool> {
        self.change(token, &EventChange::Extend(self.lease)).await
    }

    /// How long one taking holds an event.
    pub(super) fn lease(&self) -> Duration {
        self.lease
    }
}
