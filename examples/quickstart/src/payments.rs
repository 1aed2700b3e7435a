//! Takes a payment: an effect at somebody else's service, with a key that the provider recognises.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use idem_runtime::{DownstreamKey, Idempotency, RecordKey, idempotent};
use serde::{Deserialize, Serialize};
use sqlx::Pool;
use uuid::Uuid;

use crate::database::ShopDatabase;
use crate::error::AppError;
use crate::service::Shop;

/// The card that the provider declines once per downstream key.
pub(crate) const DECLINED_ONCE: &str = "declined-once";

/// What a client asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Payment {
    pub(crate) card: String,
    pub(crate) cents: i64,
}

/// What the client gets, also when it asks again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) id: String,
}

/// Charges the card. A declined card may be tried again with the same key.
///
/// Nothing here is in a transaction. When the service dies after the charge, the next attempt charges again with
/// the same downstream key, and the provider answers with the first charge.
#[idempotent(route = "payments.charge", retry_failed = true, on_lapse = "rerun")]
pub(crate) async fn charge<D: ShopDatabase>(
    idem: Idempotency<D>,
    State(shop): State<Shop<D>>,
    Json(payment): Json<Payment>,
) -> Result<(StatusCode, Json<Receipt>), AppError> {
    let key = idem.downstream_key("charge");
    let receipt = Provider(shop.pool()).charge(&key, &idem.record().key, &payment).await?;
    Ok((StatusCode::CREATED, Json(receipt)))
}

/// A payment provider that recognises a repeated charge by its downstream key.
///
/// It pretends with two tables and connections of its own; the guard knows nothing of either.
struct Provider<'a, D: ShopDatabase>(&'a Pool<D>);

impl<D: ShopDatabase> Provider<'_, D> {
    /// Charges the card; `reference` is what the shop wants to find on the provider's list.
    async fn charge(
        &self,
        key: &DownstreamKey,
        reference: &RecordKey,
        payment: &Payment,
    ) -> Result<Receipt, AppError> {
        if payment.card == DECLINED_ONCE && D::insert_decline(self.0, key).await? {
            return Err(AppError::Declined);
        }
        let id = Uuid::new_v4().simple().to_string();
        let id = D::insert_charge(self.0, key, reference, &id, payment.cents).await?;
        Ok(Receipt { id })
    }
}
