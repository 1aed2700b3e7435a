//! The handlers on PostgreSQL.

use idem_runtime::outbox::Delivery;
use idem_runtime::outbox_handler;
use idem_runtime::postgres::{Claim, Mutation};

use super::{App, move_stock};
use crate::database::{RESERVED, SHIPPED};
use crate::error::AppError;
use crate::orders::Order;

/// Keeps the items back. The lease is short because the demo kills its holders; 30 seconds unless said.
#[outbox_handler(event = "order.created", version = 1, handler_key = "reserve", lease = "2s")]
async fn reserve(delivery: &Delivery<Order>, app: &App, mutation: &mut Mutation) -> Result<(), AppError> {
    move_stock(delivery, RESERVED, app, mutation).await
}

/// Sends the items.
#[outbox_handler(event = "order.paid", version = 1, handler_key = "ship", lease = "2s")]
async fn ship(delivery: &Delivery<Order>, app: &App, mutation: &mut Mutation) -> Result<(), AppError> {
    move_stock(delivery, SHIPPED, app, mutation).await
}

/// Tells the customer. After a crash it runs again, with the same key: the provider knows the mail by that.
#[outbox_handler(event = "order.paid", version = 1, handler_key = "mail", lease = "2s", on_lapse = "rerun")]
async fn mail(delivery: &Delivery<Order>, app: &App, claim: &Claim) -> Result<(), AppError> {
    app.mailer.send(&claim.downstream_key("mail"), delivery.payload()).await?;
    app.dawdle().await;
    Ok(())
}
