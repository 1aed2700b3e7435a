//! What a handler gets.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::record::Timestamp;
use crate::store::StoredEvent;

/// An event on its way to one handler, with its payload read.
///
/// ```
/// use idem_runtime::outbox::Delivery;
/// # #[derive(serde::Deserialize)] struct OrderCreated { sku: String }
///
/// fn subject(delivery: &Delivery<OrderCreated>) -> String {
///     format!("{} has ordered a {}", delivery.actor(), delivery.payload().sku)
/// }
/// ```
///
/// `Debug` shows which event it is, and nothing of what was published.
#[derive(Clone)]
pub struct Delivery<P> {
    payload: P,
    headers: BTreeMap<String, String>,
    stored: StoredEvent,
}

impl<P> fmt::Debug for Delivery<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("event", &self.stored.event).finish_non_exhaustive()
    }
}

impl<P: DeserializeOwned> Delivery<P> {
    pub(super) fn read(stored: &StoredEvent) -> Result<Self, serde_json::Error> {
        Ok(Self {
            payload: serde_json::from_str(&stored.event.payload)?,
            headers: serde_json::from_str(&stored.event.headers)?,
            stored: stored.clone(),
        })
    }
}

impl<P> Delivery<P> {
    /// What was published.
    pub fn payload(&self) -> &P {
        &self.payload
    }

    /// The payload as the JSON that was published.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.stored.event.payload
    }

    /// The event's identity, the same at every delivery: give it to whoever must tell two events apart.
    #[must_use]
    pub fn id(&self) -> Uuid {
        self.stored.event.id
    }

    /// The type: `order.created`.
    #[must_use]
    pub fn event_type(&self) -> &str {
        &self.stored.event.event_type
    }

    /// The version of the payload.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.stored.event.version
    }

    /// Whose event it is.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.stored.event.tenant
    }

    /// Who caused it.
    #[must_use]
    pub fn actor(&self) -> &str {
        &self.stored.event.actor
    }

    /// Events with the same one come in order.
    #[must_use]
    pub fn aggregate(&self) -> Option<&str> {
        self.stored.event.aggregate.as_deref()
    }

    /// A header, such as the trace context under the name that the application gave it.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// All headers.
    #[must_use]
    pub fn headers(&self) -> &BTreeMap<String, String> {
        &self.headers
    }

    /// When it was published, by the database's clock.
    #[must_use]
    pub fn published_at(&self) -> Timestamp {
        self.stored.created_at
    }

    /// Which delivery this is, from one; those that another attempt at work turned away do not count.
    #[must_use]
    pub fn number(&self) -> i64 {
        self.stored.deliveries
    }
}
