//! Takes a payment: the guard's external mode, for effects at somebody else's service.

use idem_runtime::{Claim, DownstreamKey, Error, Idempotency, Outcome, Policy, RecordKey, Success};
use serde::{Deserialize, Serialize};
use sqlx::Pool;
use uuid::Uuid;

use crate::database::ShopDatabase;
use crate::error::AppError;

/// The name under which payments are recorded.
pub(crate) const ROUTE: &str = "payments.charge";

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

/// Charges the card, once per key as far as the provider keeps its own promise.
///
/// Nothing here is in a transaction. When the worker dies after the charge, the next attempt charges again
/// with the same downstream key, and the provider answers with the first charge.
pub(crate) async fn pay<D: ShopDatabase>(
    idem: Idempotency<D>,
    provider: Provider<D>,
    payment: Payment,
) -> Result<Outcome<Receipt>, AppError> {
    // A declined card may be tried again with the same key.
    let policy = Policy::new(ROUTE).map_err(Error::from)?.retry_failed(true);
    let request = idem.of(&payment)?;
    idem.guard()
        .run_external(&policy, request, async move |claim: &Claim<D>| {
            let key = claim.downstream_key("charge");
            let receipt = provider.charge(&key, &claim.record().key, &payment).await?;
            Ok(Success::new(receipt))
        })
        .await
}

/// A payment provider that recognises a repeated charge by its downstream key.
///
/// It pretends with two tables and connections of its own; the guard knows nothing of either.
pub(crate) struct Provider<D: ShopDatabase>(Pool<D>);

impl<D: ShopDatabase> Clone for Provider<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D: ShopDatabase> Provider<D> {
    pub(crate) fn new(pool: Pool<D>) -> Self {
        Self(pool)
    }

    /// Charges the card; `reference` is what the shop wants to find on the provider's list.
    pub(crate) async fn charge(
        &self,
        key: &DownstreamKey,
        reference: &RecordKey,
        payment: &Payment,
    ) -> Result<Receipt, AppError> {
        if payment.card == DECLINED_ONCE && D::insert_decline(&self.0, key).await? {
            return Err(AppError::Declined);
        }
        let id = Uuid::new_v4().simple().to_string();
        let id = D::insert_charge(&self.0, key, reference, &id, payment.cents).await?;
        Ok(Receipt { id })
    }
}

#[cfg(test)]
mod tests {
    use idem_runtime::{IdempotencyKey, IdempotencyMutationGuard, Scope};
    use sqlx::Sqlite;

    use super::*;
    use crate::database::Rows;

    #[tokio::test]
    async fn a_charge_whose_answer_was_lost_is_recognised_by_its_downstream_key() {
        let folder = tempfile::tempdir().unwrap();
        let pool = Sqlite::open(&format!("sqlite://{}", folder.path().join("shop").display())).await.unwrap();
        Sqlite::create_tables(&pool).await.unwrap();
        let guard = IdempotencyMutationGuard::builder(pool.clone()).migrate().build().await.unwrap();
        let idem = guard.request(Scope::new("t", "u").unwrap(), IdempotencyKey::new("k").unwrap());
        let payment = Payment { card: "good".to_owned(), cents: 5 };
        let lost = std::sync::Mutex::new(None);
        // As `pay`, with a worker that loses the provider's answer.
        let policy = Policy::new(ROUTE).unwrap().retry_failed(true);
        let first: Result<Outcome<()>, AppError> = guard
            .run_external(&policy, idem.of(&payment).unwrap(), async |claim: &Claim<Sqlite>| {
                let (key, provider) = (claim.downstream_key("charge"), Provider::new(pool.clone()));
                *lost.lock().unwrap() = Some(provider.charge(&key, &claim.record().key, &payment).await?);
                Err(AppError::Database(sqlx::Error::PoolTimedOut))
            })
            .await;
        assert!(first.is_err());
        let retried = pay(idem.clone(), Provider::new(pool.clone()), payment.clone()).await.unwrap();
        assert_eq!((retried.attempt(), Some(retried.value())), (2, lost.lock().unwrap().as_ref()));
        let key = RecordKey::new(idem.scope().clone(), policy.route().clone(), idem.key().clone());
        assert_eq!(Sqlite::count_rows(&pool, &key).await.unwrap(), Rows::ONE_PAYMENT);
    }
}
