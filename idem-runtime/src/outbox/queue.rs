//! The statements of a dispatcher, each on a connection and in a turn of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::guard::{Inner, Lane};
use crate::store::{EventChange, EventToken, Outbox, StoreResult, StoredEvent};

/// The outbox as a dispatcher sees it.
#[derive(Debug)]
pub(super) struct Queue<S: Outbox> {
    inner: Arc<Inner<S>>,
    lease: Duration,
}

/// An event that is ours, and since when at the latest its lease runs.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) event: StoredEvent,
    pub(super) since: Instant,
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
    pub(super) async fn take(&self, batch: u32) -> StoreResult<Vec<Taken>> {
        let since = Instant::now();
        let taken =
            on_a_lane!(&self.inner, |connection| S::take(connection, Uuid::new_v4(), self.lease, batch))?;
        Ok(taken.into_iter().map(|event| Taken { event, since }).collect())
    }

    /// At most `batch` events behind `done` in the order of its aggregate, none behind one that is not due.
    pub(super) async fn take_behind(&self, done: &StoredEvent, batch: u32) -> StoreResult<Vec<Taken>> {
        let Some(aggregate) = &done.event.aggregate else { return Ok(Vec::new()) };
        let aggregate = (done.event.tenant.as_str(), aggregate.as_str());
        let since = Instant::now();
        let taken = on_a_lane!(&self.inner, |connection| S::take_next(
            connection,
            Uuid::new_v4(),
            self.lease,
            aggregate,
            batch
        ))?;
        Ok(taken.into_iter().map(|event| Taken { event, since }).collect())
    }

    /// Whether an event that has waited is still ours; it then has a lease that is as good as new.
    pub(super) async fn still_holds(&self, taken: &Taken) -> bool {
        if taken.since.elapsed() < self.lease / 3 {
            return true;
        }
        // On an error nobody knows: the delivery would learn it by its mark, after its work.
        self.extend(taken.event.token()).await.unwrap_or(false)
    }

    /// Lets somebody else have what was not begun.
    pub(super) async fn give_back(&self, taken: impl IntoIterator<Item = Taken>) {
        for Taken { event, .. } in taken {
            if let Err(error) = self.change(event.token(), &EventChange::GiveBack).await {
                tracing::debug!(%error, "an event could not be given back; it is taken when its lease ends");
            }
        }
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
