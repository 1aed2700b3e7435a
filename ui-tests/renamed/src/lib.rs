//! Compiles only when the attribute finds the runtime under the name that the manifest gives it.

#![deny(warnings)]
#![forbid(unsafe_code)]

use once::idempotent;
use once::sqlite::{Idempotency, Mutation};

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
