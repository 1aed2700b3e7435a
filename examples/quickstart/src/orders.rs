//! Takes an order: the guard's transactional mode, for effects in our own database.

use std::time::Duration;

use idem_runtime::{Error, Idempotency, Mutation, Outcome, Policy, Success};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::database::ShopDatabase;
use crate::error::AppError;
use crate::protocol::{Message, say};

/// The name under which orders are recorded.
pub(crate) const ROUTE: &str = "orders.create";

/// How long a worker that died still owns its order. Short, as the demo waits for it; 30 seconds unless set.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

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
}

/// Creates the order and the task that packs it, both or neither, once per key.
///
/// `stall` is the demo's crash: it stands beside the order, not in it, so that the retry is the same request.
pub(crate) async fn create_order<D: ShopDatabase>(
    idem: Idempotency<D>,
    input: NewOrder,
    stall: bool,
) -> Result<Outcome<Order>, AppError> {
    let policy = Policy::new(ROUTE).map_err(Error::from)?.lease(LEASE);
    let request = idem.of(&input)?;
    idem.guard()
        .operation(&policy, request)
        // A database that fails is no answer to the order: the same key may try again.
        .release_on(|error| matches!(error, AppError::Database(_)))
        .run(async move |mutation: &mut Mutation<D>| {
            let key = mutation.record_key().clone();
            let NewOrder { item, quantity } = input;
            let order = Order { id: new_id(), item, quantity };
            D::insert_order(mutation, &key, &order).await?;
            if stall {
                say(&Message::Stalled);
                std::future::pending::<()>().await;
            }
            let task_id = new_id();
            D::insert_task(mutation, &key, &task_id, &order).await?;
            Ok(Success::new(order).task_id(task_id).status(201))
        })
        .await
}

fn new_id() -> String {
    Uuid::new_v4().simple().to_string()
}
