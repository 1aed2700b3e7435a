//! What one user can learn of another, what a thief of the database can read, and what a flood is refused.

mod handlers;
mod keyed;
mod limits;
mod probes;
mod quiet;
mod redaction;
mod rotation;
mod sealed;
mod service;
mod swapped;

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::encryption::AnswerKeys;
use idem_runtime::{
    Error, IdempotencyKey, IdempotencyMutationGuard, Mutation, Outcome, Policy, Scope, Success,
};
use idem_tests::Fixture;

pub(crate) type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

/// Stands wherever an application could have a secret.
pub(crate) const CANARY: &str = "canary-5f1c9e";

pub(crate) fn keys(id: &str, byte: u8) -> AnswerKeys {
    AnswerKeys::new(id, &[byte; 32]).unwrap()
}

/// Whether the text stands anywhere in the bytes.
pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// The guarded operation of `scope` under `key`, which answers `answer` and counts how often it ran.
pub(crate) async fn run<F: Fixture>(
    guard: &Guard<F>,
    policy: &Policy,
    (scope, key): (&Scope, &str),
    answer: &str,
    ran: &AtomicU32,
) -> Result<Outcome<String>, Error> {
    let request = guard.request(scope.clone(), IdempotencyKey::new(key).unwrap()).of("book")?;
    guard
        .run(policy, request, async |_: &mut Mutation<F::S>| {
            ran.fetch_add(1, Ordering::SeqCst);
            Ok(Success::new(answer.to_owned()))
        })
        .await
}
