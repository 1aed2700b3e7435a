//! One event on its way to all its handlers.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::handler::{Attempt, Handler, Refusal};
use super::pauses::Pauses;
use super::queue::Queue;
use super::registered::ByEvent;
use super::sealed;
use crate::guard::IdempotencyMutationGuard;
use crate::store::{EventChange, EventMark, Outbox, StoredEvent};

/// The longest text of an error that is kept, in bytes.
const MAX_ERROR: usize = 2000;

/// What became of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// All handlers have the event.
    Delivered,
    /// A handler failed; it will be tried again.
    Failed,
    /// A handler could not run now; it will be tried again.
    PutOff,
    /// It is given up.
    Dead,
    /// Somebody else holds it.
    Lost,
}

/// What delivers events.
pub(super) struct Deliverer<S: Outbox> {
    pub(super) guard: IdempotencyMutationGuard<S>,
    pub(super) queue: Queue<S>,
    pub(super) handlers: ByEvent<S>,
    pub(super) states: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    pub(super) max_deliveries: i64,
    pub(super) pauses: Pauses,
}

impl<S: Outbox> Deliverer<S> {
    /// Delivers `event` under its lease, which is renewed until the last handler has ended.
    pub(super) async fn deliver(&self, event: &StoredEvent) -> Fate {
        let end = {
            // Side by side: a handler that holds the event's row lets the renewal wait, and must not wait for it.
            tokio::select! {
                end = self.hand_out(event) => end,
                () = self.keep_renewing(event) => unreachable!("it goes on for ever"),
            }
        };
        let (fate, change) = match end {
            Ok(None) => return Fate::Delivered,
            Ok(Some(change)) => (Fate::Delivered, change),
            Err(Refusal::Superseded) => return Fate::Lost,
            Err(Refusal::Again(pause, error)) => (Fate::PutOff, postpone(pause, error, false)),
            Err(Refusal::Hopeless(error)) => (Fate::Dead, bury(error)),
            Err(Refusal::Failed(error)) if event.deliveries >= self.max_deliveries => {
                (Fate::Dead, bury(error))
            }
            Err(Refusal::Failed(error)) => {
                (Fate::Failed, postpone(self.pauses.after(event.deliveries), error, true))
            }
        };
        self.settle(event, fate, &change).await
    }

    /// Hands the event to each handler that lacks it. `None`: the last one has marked the event.
    async fn hand_out(&self, event: &StoredEvent) -> Result<Option<EventChange>, Refusal> {
        let (event_type, version) = (&event.event.event_type, event.event.version);
        if event.deliveries > self.max_deliveries {
            let stopped =
                "its deliveries stopped without an outcome, as when the process is killed each time";
            return Err(Refusal::Hopeless(stopped.to_owned()));
        }
        let Some(handlers) = self.handlers.get(&(event_type.as_str(), version)) else {
            return Err(Refusal::Failed(format!(
                "no handler of this program takes {event_type} version {version}"
            )));
        };
        // Another process may have the key, or this one after its next start.
        let event = &sealed::open(self.guard.0.sealing(), event)
            .map_err(|error| Refusal::Failed(format!("it cannot be opened: {error}")))?;
        let missing = handlers.iter().filter(|handler| !event.is_delivered_to(handler.spec().handler_key));
        let missing: Vec<_> = missing.collect();
        let mut refused = None;
        for (index, handler) in missing.iter().enumerate() {
            let complete = refused.is_none() && index + 1 == missing.len();
            match self.hand_to(handler, event, complete).await {
                Ok(()) => {}
                Err(Refusal::Superseded) => return Err(Refusal::Superseded),
                // The other handlers get the event all the same.
                Err(refusal) => refused = Some(worse(refused, refusal)),
            }
        }
        match refused {
            Some(refusal) => Err(refusal),
            None if missing.is_empty() => {
                Ok(Some(EventChange::Deliver(EventMark { handler_key: String::new(), complete: true })))
            }
            None => Ok(None),
        }
    }

    async fn hand_to(
        &self,
        handler: &Arc<dyn Handler<S>>,
        event: &StoredEvent,
        complete: bool,
    ) -> Result<(), Refusal> {
        let state = self.states.get(&handler.state().0).map_or_else(|| Arc::new(()) as _, Arc::clone);
        let attempt = Attempt { guard: self.guard.clone(), event: event.clone(), state, complete };
        let key = handler.spec().handler_key;
        let delivered = AssertUnwindSafe(handler.deliver(attempt)).catch_unwind().await;
        let delivered = delivered.unwrap_or_else(|_| Err(Refusal::Failed("it panicked".to_owned())));
        delivered.map_err(|refusal| refusal.named(key))
    }

    async fn keep_renewing(&self, event: &StoredEvent) {
        loop {
            tokio::time::sleep(self.queue.lease() / 3).await;
            // A lease that is lost is noticed by the mark, which then touches no row.
            if let Err(error) = self.queue.extend(event.token()).await {
                tracing::debug!(%error, "the lease of an event could not be renewed");
            }
        }
    }

    async fn settle(&self, event: &StoredEvent, fate: Fate, change: &EventChange) -> Fate {
        match self.queue.change(event.token(), change).await {
            Ok(true) => fate,
            Ok(false) => Fate::Lost,
            Err(error) => {
                tracing::warn!(%error, "an event could not be settled; it is taken again when its lease ends");
                Fate::Lost
            }
        }
    }
}

impl Refusal {
    /// Says which handler it was.
    fn named(self, handler_key: &str) -> Self {
        let of = |error: String| cut(format!("{handler_key}: {error}"));
        match self {
            Self::Again(pause, error) => Self::Again(pause, of(error)),
            Self::Failed(error) => Self::Failed(of(error)),
            Self::Hopeless(error) => Self::Hopeless(of(error)),
            Self::Superseded => Self::Superseded,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Again(..) => 0,
            Self::Hopeless(_) => 1,
            Self::Failed(_) => 2,
            Self::Superseded => 3,
        }
    }
}

/// The one that decides what becomes of the event: as long as one handler may still succeed, it is tried again.
fn worse(one: Option<Refusal>, other: Refusal) -> Refusal {
    match one {
        Some(one) if one.rank() >= other.rank() => one,
        _ => other,
    }
}

/// At most as much text as is kept, cut between two characters.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_ERROR));
    text
}

fn postpone(pause: Duration, error: String, counts: bool) -> EventChange {
    EventChange::Postpone { pause, error, counts }
}

fn bury(error: String) -> EventChange {
    EventChange::Bury { error }
}
