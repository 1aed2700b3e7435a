//! The client of the provider: no charge without a derived key, and no answer invented where none came.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem_runtime::{DownstreamKey, Recovery};
use serde::{Deserialize, Serialize};

/// How often the provider is asked about a charge before nobody can say.
const QUESTIONS: u32 = 3;

/// What the provider is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Charge {
    /// Our number of the order, to be found on the provider's list.
    pub order: String,
    /// The card.
    pub card: String,
    /// The amount.
    pub cents: i64,
}

/// What the provider gives, and our client gets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Receipt {
    /// The provider's number of the charge.
    pub charge: String,
}

impl IntoResponse for Receipt {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self)).into_response()
    }
}

/// Why there is no receipt.
#[derive(Debug, thiserror::Error)]
pub enum BankError {
    /// The provider said no, and will say no again under this key.
    #[error("the card was declined")]
    Declined,
    /// No answer came, or one that says nothing: the charge may have been made.
    #[error("the provider did not answer")]
    Silent(#[from] reqwest::Error),
}

/// A connection to the provider.
#[derive(Debug, Clone)]
pub struct Bank {
    http: reqwest::Client,
    charges: String,
}

impl Bank {
    /// A client of the provider at `url` that waits this long for each answer.
    pub fn new(url: &str, timeout: Duration) -> reqwest::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(timeout).build()?;
        Ok(Self { http, charges: format!("{url}/charges") })
    }

    /// Charges a card; under the same key it is one charge, however often it is asked for.
    ///
    /// The key comes from a claim and from nowhere else:
    ///
    /// ```
    /// use idem_runtime::{idempotent, sqlite::Idempotency};
    /// use payments::bank::{Bank, BankError, Charge, Receipt};
    /// # struct Error;
    /// # impl From<idem_runtime::Error> for Error { fn from(_: idem_runtime::Error) -> Self { Self } }
    /// # impl From<BankError> for Error { fn from(_: BankError) -> Self { Self } }
    ///
    /// #[idempotent(route = "payments.pay", on_lapse = "rerun", fingerprint(skip(bank)))]
    /// async fn pay(idem: &Idempotency, bank: &Bank, charge: Charge) -> Result<Receipt, Error> {
    ///     Ok(bank.charge(&idem.downstream_key("charge"), &charge).await?)
    /// }
    /// ```
    ///
    /// A key that somebody made up is another charge at each attempt. It does not compile:
    ///
    /// ```compile_fail,E0308
    /// use payments::bank::{Bank, BankError, Charge, Receipt};
    ///
    /// async fn pay(bank: &Bank, charge: Charge) -> Result<Receipt, BankError> {
    ///     bank.charge(&uuid::Uuid::new_v4().to_string(), &charge).await
    /// }
    /// ```
    pub async fn charge(&self, key: &DownstreamKey, charge: &Charge) -> Result<Receipt, BankError> {
        let request = self.http.post(&self.charges).header("idempotency-key", key.as_str()).json(charge);
        let response = request.send().await?;
        if response.status() == StatusCode::PAYMENT_REQUIRED {
            return Err(BankError::Declined);
        }
        Ok(response.error_for_status()?.json().await?)
    }

    /// What the provider knows of a charge, for an attempt that follows one that stopped half-way.
    ///
    /// Asked more than once, since a false "nobody can say" costs an operator's time. A charge that was declined
    /// is absent: asked for again under its key, the provider declines it again.
    pub async fn find(&self, key: DownstreamKey) -> Recovery<Receipt> {
        for _ in 0..QUESTIONS {
            match self.look_up(&key).await {
                Ok(Some(receipt)) => return Recovery::Done(receipt),
                Ok(None) => return Recovery::Absent,
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        Recovery::Unknown
    }

    async fn look_up(&self, key: &DownstreamKey) -> reqwest::Result<Option<Receipt>> {
        let response = self.http.get(format!("{}/{key}", self.charges)).send().await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        response.error_for_status()?.json().await.map(Some)
    }
}
