//! Payload and headers of events as they are stored, where the guard has keys.

use crate::encryption::{Binding, NotSealed, OpenError, Sealing};
use crate::store::{NewEvent, StoredEvent};

fn binding(part: &str, event: &NewEvent) -> Binding {
    let (id, version) = (event.id.to_string(), event.version.to_string());
    let aggregate = event.aggregate.as_deref();
    let ordered = if aggregate.is_some() { "ordered" } else { "" };
    let aggregate = aggregate.unwrap_or_default();
    Binding::event(part, &[&id, &event.event_type, &version, &event.tenant, &event.actor, ordered, aggregate])
}

/// The event as it is stored.
pub(super) fn seal(sealing: &Sealing, event: NewEvent) -> Result<NewEvent, NotSealed> {
    let bindings = ["payload", "headers"].map(|part| binding(part, &event));
    let payload = sealing.seal_text(event.payload, &bindings[0])?;
    let headers = sealing.seal_text(event.headers, &bindings[1])?;
    Ok(NewEvent { payload, headers, ..event })
}

/// The event as it was published.
pub(super) fn open(sealing: &Sealing, stored: &StoredEvent) -> Result<StoredEvent, OpenError> {
    let mut stored = stored.clone();
    let bindings = ["payload", "headers"].map(|part| binding(part, &stored.event));
    stored.event.payload = sealing.open_text(stored.event.payload, &bindings[0])?;
    stored.event.headers = sealing.open_text(stored.event.headers, &bindings[1])?;
    Ok(stored)
}
