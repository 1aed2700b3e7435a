//! Takes an order: the rows, the task that packs it and the record commit together, once per key.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use idem_runtime::{Idempotency, Mutation, exempt, idempotent, read_only};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::database::ShopDatabase;
use crate::error::AppError;
use crate::service::{Customer, Shop, Stall};

/// What a client asks for. Every member counts: the same key with another quantity is a conflict.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NewOrder {
    pub(crate) item: String,
    pub(crate) quantity: i64,
}

/// What the client gets, also when it asks again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) item: String,
    pub(crate) quantity: i64,
    /// The background task that packs it.
    pub(crate) task_id: String,
}

/// Creates the order and the task that packs it, both or neither.
///
/// The lease is short because the demo waits for it; 30 seconds unless said. A database that fails is no answer
/// to the order: the claim is given back, and the same key may try again.
#[idempotent(route = "orders.create", bind = task_id, lease = "2s", release_on(AppError::Database(_)))]
pub(crate) async fn create<D: ShopDatabase>(
    idem: Idempotency<D>,
    State(shop): State<Shop<D>>,
    stall: Stall,
    mutation: &mut Mutation<D>,
    Json(NewOrder { item, quantity }): Json<NewOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    let key = mutation.record_key().clone();
    let order = Order { id: new_id(), item, quantity, task_id: new_id() };
    D::insert_order(mutation, &key, &order).await?;
    stall.here().await;
    D::insert_task(mutation, &key, &order).await?;
    shop.packer.notify_one();
    Ok((StatusCode::CREATED, Json(order)))
}

/// The orders of a tenant. Its connection cannot write: the database would refuse.
#[read_only]
pub(crate) async fn list<D: ShopDatabase>(
    State(shop): State<Shop<D>>,
    customer: Customer,
) -> Result<Json<Vec<Order>>, AppError> {
    Ok(Json(D::orders(&mut *shop.reads.acquire().await?, &customer.tenant).await?))
}

/// Packs what was ordered, in the background; whatever a crash left is found at the next start.
#[exempt(reason = "what is packed already is not packed again")]
pub(crate) async fn pack<D: ShopDatabase>(shop: Shop<D>) {
    loop {
        // Packing is a repeatable statement: a failure is tried again with the next order.
        if let Err(error) = D::pack_tasks(shop.pool()).await {
            eprintln!("quickstart: packing failed: {error}");
        }
        // The wake-up comes before the order is committed, so a look now and then is the safety net.
        let _ = tokio::time::timeout(Duration::from_secs(1), shop.packer.notified()).await;
    }
}

fn new_id() -> String {
    Uuid::new_v4().simple().to_string()
}
