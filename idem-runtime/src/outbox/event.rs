//! What a body publishes.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use uuid::Uuid;

use crate::key::{KeyError, Route, Scope};
use crate::mutation::EventHeaders;
use crate::store::NewEvent;

/// The longest payload, in bytes of JSON.
const MAX_PAYLOAD: usize = 1024 * 1024;
/// The longest aggregate key, in bytes: what fits into every database's index.
const MAX_AGGREGATE: usize = 255;

/// Something that happened, for others to act on.
///
/// ```
/// use idem_runtime::outbox::Event;
///
/// #[derive(serde::Serialize)]
/// struct OrderCreated { order: u64, sku: String }
///
/// let event = Event::new("order.created", 1, &OrderCreated { order: 17, sku: "book".to_owned() })
///     .aggregate("order-17")
///     .header("source", "shop");
/// ```
///
/// `Debug` shows type and version alone.
#[derive(Clone)]
#[must_use = "an event does nothing until it is published"]
pub struct Event {
    kind: String,
    version: u32,
    payload: Result<String, String>,
    aggregate: Option<String>,
    headers: BTreeMap<String, String>,
    scope: Option<Scope>,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut event = f.debug_struct("Event");
        event.field("event_type", &self.kind).field("version", &self.version).finish_non_exhaustive()
    }
}

impl Event {
    /// An event of a type, of `a-z 0-9 . _ -`, with a payload of that version.
    pub fn new<P: Serialize + ?Sized>(event_type: impl Into<String>, version: u32, payload: &P) -> Self {
        Self {
            kind: event_type.into(),
            version,
            payload: serde_json::to_string(payload).map_err(|error| error.to_string()),
            aggregate: None,
            headers: BTreeMap::new(),
            scope: None,
        }
    }

    /// Keeps the order among all events of this tenant with the same aggregate key, of whatever type.
    ///
    /// Two bodies that publish at the same time have no order; where there is one, they lock a row of the aggregate
    /// before they publish, as they do to change it.
    pub fn aggregate(mut self, key: impl Into<String>) -> Self {
        self.aggregate = Some(key.into());
        self
    }

    /// A header that handlers can read, one per name.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Tenant and actor, where they are not those of the request.
    pub fn on_behalf_of(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// The event as it is written, with an identity of its own.
    pub(super) fn prepare(
        self,
        scope: &Scope,
        ambient: Option<&EventHeaders>,
    ) -> Result<NewEvent, EventError> {
        // The route of a handler holds type and version, so it says what they may be.
        Route::outbox(&self.kind, self.version, "handler")?;
        let payload = self.payload.map_err(EventError::Payload)?;
        if payload.len() > MAX_PAYLOAD {
            return Err(EventError::TooLarge { length: payload.len(), limit: MAX_PAYLOAD });
        }
        if let Some(aggregate) = &self.aggregate
            && (aggregate.is_empty() || aggregate.len() > MAX_AGGREGATE || aggregate.contains('\0'))
        {
            return Err(EventError::Aggregate);
        }
        let mut headers = BTreeMap::new();
        if let Some(EventHeaders(add)) = ambient {
            add(&mut headers);
        }
        headers.extend(self.headers);
        let scope = self.scope.as_ref().unwrap_or(scope);
        Ok(NewEvent {
            id: Uuid::new_v4(),
            event_type: self.kind,
            version: self.version,
            tenant: scope.tenant().to_owned(),
            actor: scope.user().to_owned(),
            aggregate: self.aggregate,
            payload,
            headers: serde_json::to_string(&headers)
                .map_err(|error| EventError::Payload(error.to_string()))?,
        })
    }
}

/// An event that cannot be published; nothing of it was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The payload is not JSON.
    #[error("the payload of the event cannot be serialised: {0}")]
    Payload(String),
    /// The payload is too large.
    #[error(
        "the payload of the event has {length} bytes: at most {limit} are allowed, so publish a reference to it"
    )]
    TooLarge {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// The aggregate key cannot be used.
    #[error("the aggregate key of the event must have 1 to 255 bytes, and none that is zero")]
    Aggregate,
    /// The type cannot be used.
    #[error(transparent)]
    Type(#[from] KeyError),
}
