//! What a caller of the guard is promised: one run, the recorded answer, and a clear refusal otherwise.

mod external;
mod failure;
mod recovery;
mod replay;
mod steps;
mod transaction;
mod waiting;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::{
    Error, IdempotencyMutationGuard, Mutation, Outcome, Policy, Reading, RecordKey, Request, Success,
};
use idem_tests::{Fixture, key, scope};
use serde::{Deserialize, Serialize};

pub(crate) type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// The application's error; it is what most services have.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
pub(crate) enum AppError {
    Declined { code: u32 },
    Busy,
    Guard(String),
}

impl From<Error> for AppError {
    fn from(error: Error) -> Self {
        Self::Guard(error.code().to_owned())
    }
}

pub(crate) fn record_key(policy: &Policy, name: &str) -> RecordKey {
    RecordKey::new(scope(), policy.route().clone(), key(name))
}

pub(crate) fn request<F: Fixture>(guard: &Guard<F>, name: &str, body: &str) -> Request {
    guard.request(scope(), key(name)).of(body).unwrap()
}

/// Runs a body that writes one row named after the key, and counts how often it ran.
pub(crate) async fn order<F: Fixture>(
    guard: &Guard<F>,
    policy: &Policy,
    name: &'static str,
    body: &str,
    ran: &AtomicU32,
) -> Result<Outcome<String>, Error> {
    guard
        .run(policy, request::<F>(guard, name, body), async |mutation: &mut Mutation<F::S>| {
            ran.fetch_add(1, Ordering::SeqCst);
            F::effect(mutation, name).await.unwrap();
            Ok(Success::new(format!("order of {name}"))
                .task_id("task-1")
                .outbox_event_id("event-1")
                .status(201))
        })
        .await
}

pub(crate) async fn read<F: Fixture>(guard: &Guard<F>, policy: &Policy, name: &str) -> Reading {
    guard.read(&record_key(policy, name)).await.unwrap().unwrap()
}
