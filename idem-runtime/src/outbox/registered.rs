//! The handlers of the finished program, as their attributes registered them.

use std::collections::HashMap;
use std::sync::Arc;

use super::handler::{Erased, Handler};
use crate::store::Outbox;

/// A function with `#[outbox_handler]`.
#[derive(Debug, Clone, Copy)]
pub struct HandlerEntry {
    event: &'static str,
    version: u32,
    handler_key: &'static str,
    make: fn() -> Erased,
}

inventory::collect!(HandlerEntry);

impl HandlerEntry {
    /// What an attribute submits.
    #[doc(hidden)]
    #[must_use]
    pub const fn declared(
        event: &'static str,
        version: u32,
        handler_key: &'static str,
        make: fn() -> Erased,
    ) -> Self {
        Self { event, version, handler_key, make }
    }

    /// The event's type.
    #[must_use]
    pub const fn event(&self) -> &'static str {
        self.event
    }

    /// The version of its payload.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Names the handler among those of the event.
    #[must_use]
    pub const fn handler_key(&self) -> &'static str {
        self.handler_key
    }
}

/// All handlers of the program, of whatever database, by event, version and key.
#[must_use]
pub fn handlers() -> Vec<&'static HandlerEntry> {
    let mut entries: Vec<&HandlerEntry> = inventory::iter::<HandlerEntry>().collect();
    entries.sort_by_key(|entry| (entry.event, entry.version, entry.handler_key));
    entries
}

/// The handlers of one store by event and version, in the order of their keys.
pub(super) type ByEvent<S> = HashMap<(&'static str, u32), Vec<Arc<dyn Handler<S>>>>;

pub(super) fn of_store<S: Outbox>() -> ByEvent<S> {
    let mut by_event = ByEvent::new();
    for entry in handlers() {
        if let Ok(handler) = (entry.make)().downcast::<Arc<dyn Handler<S>>>() {
            by_event.entry((entry.event, entry.version)).or_default().push(*handler);
        }
    }
    by_event
}
