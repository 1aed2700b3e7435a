//! How an event gets into the body's transaction.

use uuid::Uuid;

use super::{Event, sealed};
use crate::mutation::Mutation;
use crate::store::{Outbox, StoreResult};

impl<S: Outbox> Mutation<S> {
    /// Publishes an event: it exists once this transaction commits, and never if it does not.
    ///
    /// Tenant and actor are those of the request unless the event names others. The first event is bound to the
    /// record as its `outbox_event_id`; to bind another one, give its id to
    /// [`bind_outbox_event`](Self::bind_outbox_event).
    ///
    /// The error is sqlx's, as of every other statement of the body; an event that cannot be written at all is an
    /// [`Encode`](sqlx::Error::Encode) error with an [`EventError`](super::EventError) inside.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use idem_runtime::{outbox::Event, sqlite::{Guard, Mutation}, Error, IdempotencyKey, Policy, Scope, Success};
    /// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    /// # let guard = Guard::builder(pool).migrate().build().await?;
    /// # #[derive(Debug, thiserror::Error)] enum AppError {
    /// #     #[error(transparent)] Sql(#[from] sqlx::Error), #[error(transparent)] Guard(#[from] Error) }
    /// # let request = guard.request(Scope::new("acme", "user-7")?, IdempotencyKey::new("k1")?).of(&5)?;
    /// # let policy = Policy::new("orders.create")?;
    /// let order = guard.run(&policy, request, async |mutation: &mut Mutation| {
    ///     let id = mutation.publish(Event::new("order.created", 1, "book").aggregate("order-17")).await?;
    ///     Ok::<_, AppError>(Success::new(id.to_string()))
    /// }).await?;
    /// assert_eq!(order.outbox_event_id(), Some(order.value().as_str()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn publish(&mut self, event: Event) -> StoreResult<Uuid> {
        let publishing = self.publishing();
        let prepared = event.prepare(self.record_key().scope(), publishing.headers.as_ref());
        let event = prepared.map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        let event =
            sealed::seal(&publishing.sealing, event).map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
        S::publish(self, &event).await?;
        self.note_published(event.id, event.event_type);
        Ok(event.id)
    }
}
