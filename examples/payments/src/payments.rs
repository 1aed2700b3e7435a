//! Takes a payment: an effect at somebody else's service, under a key that the provider recognises.

use axum::Json;
use axum::extract::State;
use idem_runtime::idempotent;
use idem_runtime::sqlite::Idempotency;
use serde::{Deserialize, Serialize};

use crate::bank::{BankError, Charge, Receipt};
use crate::error::AppError;
use crate::service::App;

/// What a client asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Payment {
    pub(crate) account: String,
    #[serde(flatten)]
    pub(crate) charge: Charge,
}

/// Charges the card.
///
/// - The answer of the provider is lost: 503, the claim is given back, and the next attempt asks for the same charge
///   under the same derived key.
/// - The service dies: the next attempt finds its lease ended, and asks the provider what became of the charge.
/// - The card is declined: that is the answer, also to the next request with this key.
///
/// The lease is short because the demo waits for it; 30 seconds unless said.
#[idempotent(
    route = "payments.charge",
    retry_failed = false,
    lease = "2s",
    on_lapse = recover(app.bank.find(idem.downstream_key("charge"))),
    release_on(AppError::Bank(BankError::Silent(_)), AppError::Database(_), AppError::Reading(_)),
)]
pub(crate) async fn charge(
    idem: Idempotency,
    State(app): State<App>,
    Json(payment): Json<Payment>,
) -> Result<Receipt, AppError> {
    let tenant = idem.record().key.scope().tenant().to_owned();
    if !app.has_account(&tenant, &payment.account).await? {
        return Err(AppError::NoAccount);
    }
    // The one effect of this body; a second one would want a step and a key of its own.
    Ok(app.bank.charge(&idem.downstream_key("charge"), &payment.charge).await?)
}
