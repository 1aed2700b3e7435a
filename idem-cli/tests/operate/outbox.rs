//! `idem outbox`, on events in every state.

mod changing;
mod looking;

use std::time::Duration;

use idem_runtime::store::{EventFilter, EventStatus, NewEvent, Outbox, StoredEvent};
use idem_tests::Fixture;
use sqlx::Database;
use uuid::Uuid;

use crate::at::At;

/// A database with an outbox.
pub(crate) trait WithOutbox: Fixture<S: Outbox> {}

impl<F: Fixture<S: Outbox>> WithOutbox for F {}

/// An event of that type; its payload is a secret.
pub(crate) fn event(event_type: &str) -> NewEvent {
    NewEvent {
        id: Uuid::new_v4(),
        event_type: event_type.to_owned(),
        version: 1,
        tenant: "acme".to_owned(),
        actor: "user-7".to_owned(),
        aggregate: Some("order-17".to_owned()),
        payload: r#"{"card":"4711"}"#.to_owned(),
        headers: r#"{"traceparent":"00-1"}"#.to_owned(),
    }
}

impl<F: WithOutbox> At<F> {
    /// Publishes `event` and gives its id, as an argument.
    pub(crate) async fn publish(&self, event: NewEvent) -> String {
        let mut conn = self.pool.acquire().await.unwrap();
        F::S::publish(&mut conn, &event).await.unwrap();
        event.id.to_string()
    }

    /// Publishes an event of that type which a dispatcher holds.
    pub(crate) async fn hold(&self, event_type: &str) -> String {
        let id = self.publish(NewEvent { aggregate: None, ..event(event_type) }).await;
        self.take().await;
        id
    }

    /// Takes all that is due, for an hour.
    pub(crate) async fn take(&self) -> Vec<StoredEvent> {
        let mut conn = self.pool.acquire().await.unwrap();
        F::S::take(&mut conn, Uuid::new_v4(), Duration::from_hours(1), 100).await.unwrap()
    }

    /// Publishes an event of that type and gives it up.
    pub(crate) async fn bury(&self, event_type: &str, error: &str) -> String {
        let published = event(event_type);
        let id = published.id;
        self.publish(published).await;
        let mut conn = self.pool.acquire().await.unwrap();
        assert!(F::S::bury_event(&mut conn, id, error).await.unwrap());
        id.to_string()
    }

    /// Publishes an event of that type and delivers it.
    pub(crate) async fn deliver(&self, event_type: &str) -> String {
        let id = self.publish(event(event_type)).await;
        self.execute(&format!(
            "UPDATE idempotency_outbox_events SET status = 'delivered', delivered_to = ' stock mail ', \
             completed_at = created_at WHERE event_type = '{event_type}'"
        ))
        .await;
        id
    }

    /// Lets an hour and a half pass for all events.
    pub(crate) async fn grow_old(&self) {
        let span = if F::S::NAME == "PostgreSQL" { "interval '90 minutes'" } else { "5400000000" };
        self.execute(&format!(
            "UPDATE idempotency_outbox_events SET created_at = created_at - {span}, due_at = due_at - {span}, \
             completed_at = completed_at - {span}"
        ))
        .await;
    }

    /// The status of each event, in the order of their numbers.
    pub(crate) async fn statuses(&self) -> Vec<EventStatus> {
        let mut conn = self.pool.acquire().await.unwrap();
        let events = F::S::events(&mut conn, &EventFilter::default(), 100).await.unwrap();
        events.iter().map(|event| event.status).collect()
    }
}
