//! Compiles only when the attribute finds the runtime under the name that the manifest gives it.

#![deny(warnings, missing_docs, clippy::pedantic)]
#![forbid(unsafe_code)]

use once::sqlite::{Idempotency, Mutation, ReadPool};
use once::{exempt, idempotent, read_only, service};

/// A handler.
#[idempotent(route = "orders.create")]
pub async fn create_order(idem: Idempotency, mutation: &mut Mutation) -> String {
    mutation.attempt().to_string()
}

/// A service function.
#[idempotent(route = "payments.charge")]
pub async fn charge(idem: &Idempotency, cents: u64) -> Result<u64, once::Error> {
    Ok(cents)
}

/// A service.
#[derive(Debug)]
pub struct Shop;

#[service]
impl Shop {
    /// Writes once.
    ///
    /// # Errors
    ///
    /// When it is refused.
    #[once::idempotent(route = "shop.place")]
    pub async fn place(&self, idem: &Idempotency, mutation: &mut Mutation) -> Result<i64, once::Error> {
        Ok(mutation.attempt())
    }

    /// May run twice.
    #[exempt(reason = "a second mail does no harm")]
    pub async fn remind(&self) {
        std::future::ready(()).await;
    }

    /// Reads.
    ///
    /// # Errors
    ///
    /// When the database is away.
    #[read_only]
    pub async fn look(&self, reads: &ReadPool) -> Result<(), once::Error> {
        reads.acquire().await.map(drop).map_err(|error| once::Error::StoreUnavailable(Some(error.into())))
    }
}
