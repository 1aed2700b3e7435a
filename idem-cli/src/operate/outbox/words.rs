//! An event for people.

use idem_runtime::encryption::sealed_key_id;
use idem_runtime::store::{EventStatus, StoredEvent};

use super::is_held;
use crate::operate::span::relative;
use crate::operate::words::harmless;

/// The longest error that a table shows, in characters; `show` has all of it.
const ERROR: usize = 60;

/// When a dispatcher may take the event, or who has it.
pub(super) fn due(event: &StoredEvent) -> String {
    match event.status {
        EventStatus::Pending if is_held(event) => "held".to_owned(),
        EventStatus::Pending if event.due_at > event.now => relative(event.now, event.due_at),
        EventStatus::Pending => "now".to_owned(),
        EventStatus::Delivered | EventStatus::Dead => "-".to_owned(),
    }
}

/// The beginning of the last error, on one line.
pub(super) fn short_error(event: &StoredEvent) -> String {
    let Some(error) = &event.last_error else { return "-".to_owned() };
    let line = error.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(ERROR) {
        Some((end, _)) => format!("{}..", &line[..end]),
        None => line,
    }
}

/// What is known of an event, without what was published.
pub(super) fn event(event: &StoredEvent) -> Vec<(&'static str, String)> {
    let (published, now) = (&event.event, event.now);
    let mut rows = vec![
        ("event", published.id.to_string()),
        ("number", event.sequence.to_string()),
        ("type", format!("{} version {}", published.event_type, published.version)),
        ("tenant", published.tenant.clone()),
        ("actor", published.actor.clone()),
        ("aggregate", published.aggregate.clone().unwrap_or_else(|| "none".to_owned())),
        ("status", event.status.as_str().to_owned()),
        ("taken", format!("{} times, {} of them count", event.attempt, event.deliveries)),
        ("published", relative(now, event.created_at)),
    ];
    if event.status == EventStatus::Pending {
        rows.push(if is_held(event) {
            ("held", format!("its lease ends {}", relative(now, event.due_at)))
        } else {
            ("due", due(event))
        });
    }
    if let Some(completed) = event.completed_at {
        rows.push(("ended", relative(now, completed)));
    }
    let handlers: Vec<&str> = event.delivered_to.split_whitespace().collect();
    rows.push(("delivered to", if handlers.is_empty() { "nobody".to_owned() } else { handlers.join(", ") }));
    if let Some(error) = &event.last_error {
        rows.push(("last error", error.clone()));
    }
    rows
}

/// What was published.
pub(super) fn content(event: &StoredEvent) -> String {
    if let Some(key_id) = sealed_key_id(&event.event.payload) {
        return format!("\n(payload and headers are sealed with the key {})\n", harmless(key_id));
    }
    format!("\nheaders {}\n{}\n", harmless(&event.event.headers), harmless(&event.event.payload))
}

/// An event in one line.
pub(super) fn line(event: &StoredEvent) -> String {
    let published = &event.event;
    harmless(&format!(
        "{} {} version {} of {}",
        published.id, published.event_type, published.version, published.tenant
    ))
}
