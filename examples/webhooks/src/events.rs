//! Books a payment that the provider tells of, once per event.

use axum::Json;
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};
use serde::{Deserialize, Serialize};

use crate::error::AppError;
use crate::sender::WebhookSender;

/// What the provider delivers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Event {
    pub(crate) id: String,
    /// Which delivery of the event this is.
    pub(crate) delivery: u32,
    pub(crate) order: String,
    pub(crate) cents: i64,
}

/// Books a payment.
///
/// The provider delivers an event until it gets a 2xx, for days, and sometimes once more. So a delivery that failed
/// runs again, one that comes while another is at work waits for its answer, and the event's own id is the key. The
/// number of the delivery differs each time, and is no part of what is compared.
#[idempotent(route = "webhooks.payment", preset = webhook, key = &event.id, fingerprint(ignore("/delivery")))]
pub(crate) async fn paid(
    idem: Idempotency<WebhookSender>,
    mutation: &mut Mutation,
    Json(event): Json<Event>,
) -> Result<String, AppError> {
    // A statement that adds: run twice, it would be seen.
    let booked = sqlx::query("UPDATE orders SET paid = paid + ?1 WHERE order_id = ?2")
        .bind(event.cents)
        .bind(&event.order)
        .execute(&mut **mutation)
        .await?;
    if booked.rows_affected() == 0 {
        return Err(AppError::NoOrder);
    }
    Ok(format!("booked {}", event.id))
}
