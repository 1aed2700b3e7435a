//! An event as docs/cli.md describes it.

use idem_runtime::encryption::sealed_key_id;
use idem_runtime::store::{EventStatus, StoredEvent};
use serde::Serialize;
use serde_json::Value;

use super::is_held;
use crate::operate::span::{millis_to, rfc3339};

/// An event without what was published.
#[derive(Serialize)]
pub(super) struct EventJson<'a> {
    sequence: i64,
    event_id: String,
    event_type: &'a str,
    event_version: u32,
    tenant_id: &'a str,
    user_id: &'a str,
    aggregate_key: Option<&'a str>,
    status: &'a str,
    attempt: i64,
    deliveries: i64,
    held: bool,
    delivered_to: Vec<&'a str>,
    last_error: Option<&'a str>,
    created_at: String,
    due_at: String,
    completed_at: Option<String>,
    age_ms: i64,
    due_left_ms: Option<i64>,
}

impl<'a> From<&'a StoredEvent> for EventJson<'a> {
    fn from(stored: &'a StoredEvent) -> Self {
        let (event, now) = (&stored.event, stored.now);
        let is_pending = stored.status == EventStatus::Pending;
        Self {
            sequence: stored.sequence,
            event_id: event.id.to_string(),
            event_type: &event.event_type,
            event_version: event.version,
            tenant_id: &event.tenant,
            user_id: &event.actor,
            aggregate_key: event.aggregate.as_deref(),
            status: stored.status.as_str(),
            attempt: stored.attempt,
            deliveries: stored.deliveries,
            held: is_held(stored),
            delivered_to: stored.delivered_to.split_whitespace().collect(),
            last_error: stored.last_error.as_deref(),
            created_at: rfc3339(stored.created_at),
            due_at: rfc3339(stored.due_at),
            completed_at: stored.completed_at.map(rfc3339),
            age_ms: millis_to(stored.created_at, now),
            due_left_ms: is_pending.then(|| millis_to(now, stored.due_at)),
        }
    }
}

/// What was published.
#[derive(Serialize)]
pub(super) struct ContentJson {
    payload: Value,
    headers: Value,
    /// The id of the key without which nobody can read them; they are null then.
    sealed_with: Option<String>,
}

impl From<&StoredEvent> for ContentJson {
    fn from(stored: &StoredEvent) -> Self {
        // Whatever stands there is shown: what is no JSON, which no program of ours writes, as text.
        let read = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        if let Some(key_id) = sealed_key_id(&stored.event.payload) {
            return Self { payload: Value::Null, headers: Value::Null, sealed_with: Some(key_id.to_owned()) };
        }
        let (payload, headers) = (read(&stored.event.payload), read(&stored.event.headers));
        Self { payload, headers, sealed_with: None }
    }
}
