//! Takes orders from the service's own users, who bring a key of their own.

use axum::Json;
use axum::http::StatusCode;
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};
use serde::{Deserialize, Serialize};

use crate::error::AppError;

/// What a user asks for, and gets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) order: String,
}

/// Creates an order.
#[idempotent(route = "orders.create", release_on(AppError::Database(_)))]
pub(crate) async fn create(
    idem: Idempotency,
    mutation: &mut Mutation,
    Json(order): Json<Order>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    sqlx::query("INSERT INTO orders (order_id, paid) VALUES (?1, 0)")
        .bind(&order.order)
        .execute(&mut **mutation)
        .await?;
    Ok((StatusCode::CREATED, Json(order)))
}
