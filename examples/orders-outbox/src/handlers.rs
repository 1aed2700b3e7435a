//! What happens after an order: its stock moves in our own database, and a mail goes out.
//!
//! A handler is registered for one database, so each of the two here has a file with the attributes; an
//! application with one database writes the attribute above the function itself.

mod postgres;
mod sqlite;

use std::time::Duration;

use idem_runtime::Mutation;
use idem_runtime::outbox::Delivery;

use crate::database::{Movement, OrdersDatabase};
use crate::error::AppError;
use crate::mail::Mailer;
use crate::orders::Order;
use crate::service::say;

/// What the handlers need besides the database.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) mailer: Mailer,
    /// How long each handler waits after its effect and before it ends.
    pub(crate) dawdle: Duration,
}

/// The line by which the demo knows that a handler has had its effect and has not ended.
pub(crate) const AT_WORK: &str = "at work";

impl App {
    /// Here a process can be killed: after the effect, and before anybody knows of it.
    async fn dawdle(&self) {
        if !self.dawdle.is_zero() {
            say(AT_WORK);
            tokio::time::sleep(self.dawdle).await;
        }
    }
}

/// Writes a line of the stock ledger; it commits together with the mark that this event is done.
async fn move_stock<D: OrdersDatabase>(
    delivery: &Delivery<Order>,
    name: &str,
    app: &App,
    mutation: &mut Mutation<D>,
) -> Result<(), AppError> {
    let order = delivery.payload().id.clone();
    let (event, tenant) = (delivery.id(), delivery.tenant().to_owned());
    D::move_stock(mutation, &Movement { event, tenant, order, name: name.to_owned() }).await?;
    app.dawdle().await;
    Ok(())
}
