//! Takes an order: its row, its events and the record commit together, once per key.

use axum::Json;
use axum::http::StatusCode;
use idem_runtime::outbox::Event;
use idem_runtime::{Idempotency, Mutation, idempotent};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::database::OrdersDatabase;
use crate::error::AppError;

/// What a client asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NewOrder {
    pub(crate) item: String,
    pub(crate) quantity: i64,
}

/// What the client gets, also when it asks again; and what both events carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) item: String,
    pub(crate) quantity: i64,
}

/// Creates the order and publishes that it was created and paid, all or nothing.
///
/// Both events have the order as their aggregate: whoever takes `order.paid` knows that `order.created` is done.
#[idempotent(route = "orders.create", release_on(AppError::Database(_)))]
pub(crate) async fn create<D: OrdersDatabase>(
    idem: Idempotency<D>,
    mutation: &mut Mutation<D>,
    Json(NewOrder { item, quantity }): Json<NewOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    let order = Order { id: Uuid::new_v4().simple().to_string(), item, quantity };
    let tenant = mutation.record_key().scope().tenant().to_owned();
    D::insert_order(mutation, &tenant, &order).await?;
    mutation.publish(Event::new("order.created", 1, &order).aggregate(&order.id)).await?;
    mutation.publish(Event::new("order.paid", 1, &order).aggregate(&order.id)).await?;
    Ok((StatusCode::CREATED, Json(order)))
}
