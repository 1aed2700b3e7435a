//! Processes that are killed or frozen at each step of a guarded call, and what their retry gets.
//!
//! The table in section 8 of the design is what these tests hold.

mod external;
mod frozen;
mod transactional;
#[cfg(feature = "postgres")]
mod under_way;

use std::time::Duration;

use idem_runtime::{
    Claim, Error, IdempotencyMutationGuard, Mutation, Outcome, Policy, Record, RecordKey, Status, Success,
};
use idem_test_support::process::Process;
use idem_tests::{Fixture, key, scope};

pub(crate) const KEY: &str = "k";
/// The recorded value of the process that dies.
pub(crate) const OF_THE_VICTIM: &str = "of the victim";
/// The recorded value of the test, which sends the request again.
pub(crate) const OF_THE_RETRY: &str = "of the retry";

/// The lease where nothing is said.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

pub(crate) type Guard<F> = IdempotencyMutationGuard<<F as Fixture>::S>;

/// Starts a process that asks once with `KEY`; see `src/bin/victim.rs` for the options.
pub(crate) fn victim<F: Fixture>(fixture: &F, options: &[&str]) -> Process {
    let url = fixture.url();
    let arguments = ["--database-url", &url, "run", KEY].into_iter().chain(options.iter().copied());
    Process::spawn(env!("CARGO_BIN_EXE_victim"), arguments)
}

/// Sends the victim's request again; its body writes the business row `retry`.
pub(crate) async fn retry<F: Fixture>(guard: &Guard<F>, policy: &Policy) -> Result<Outcome<String>, Error> {
    let request = guard.request(scope(), key(KEY)).of("book").unwrap();
    let body = async |mutation: &mut Mutation<F::S>| {
        F::effect(mutation, "retry").await.unwrap();
        Ok(Success::new(OF_THE_RETRY.to_owned()))
    };
    guard.run(policy, request, body).await
}

/// What the body of an external retry was given.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) charge: String,
    pub(crate) task_id: Option<String>,
}

/// Sends the victim's external request again, to a provider that refuses a charge whose key it has seen.
pub(crate) async fn retry_external<F: Fixture>(
    guard: &Guard<F>,
    policy: &Policy,
) -> (Result<Outcome<String>, Error>, Option<Seen>) {
    let request = guard.request(scope(), key(KEY)).of("book").unwrap();
    let mut seen = None;
    let body = async |claim: &Claim<F::S>| {
        let charge = claim.downstream_key("charge").to_string();
        if F::effects(guard.pool(), &charge).await == 0 {
            F::effect(&mut *guard.pool().acquire().await.unwrap(), &charge).await.unwrap();
        }
        seen = Some(Seen { charge, task_id: claim.record().bindings.task_id.clone() });
        Ok(Success::new(OF_THE_RETRY.to_owned()))
    };
    (guard.run_external(policy, request, body).await, seen)
}

pub(crate) async fn record<F: Fixture>(guard: &Guard<F>, policy: &Policy) -> Option<Record> {
    let key = RecordKey::new(scope(), policy.route().clone(), key(KEY));
    guard.read(&key).await.unwrap().map(|reading| reading.record)
}

/// The record of a first attempt that nobody has ended.
pub(crate) async fn is_abandoned<F: Fixture>(guard: &Guard<F>, policy: &Policy) {
    let record = record::<F>(guard, policy).await.unwrap();
    assert_eq!((record.status, record.token.attempt), (Status::Processing, 1));
    assert!(
        record.locked_until.is_some() && record.answer.is_none() && !record.outcome_unknown,
        "{record:?}"
    );
}

/// A run of `attempt` that was the first to succeed, or a replay of it.
#[track_caller]
pub(crate) fn is_answer(answer: &Result<Outcome<String>, Error>, replay: bool, attempt: i64, value: &str) {
    let answer = answer.as_ref().unwrap();
    assert_eq!((answer.is_replay(), answer.attempt()), (replay, attempt), "{answer:?}");
    assert_eq!(answer.value(), value);
}

/// Ends the lease as time would, and leaves `created_at`: moving that too, as `F::pass` does, changes the
/// derived keys.
pub(crate) async fn lapse<F: Fixture>(guard: &Guard<F>) {
    execute::<F>(guard, "UPDATE idempotency_records SET locked_until = created_at").await;
}

pub(crate) async fn execute<F: Fixture>(guard: &Guard<F>, sql: &str) {
    F::execute(&mut *guard.pool().acquire().await.unwrap(), sql).await.unwrap();
}

/// How many business rows there are in all.
pub(crate) async fn all_effects<F: Fixture>(guard: &Guard<F>) -> i64 {
    F::number(&mut *guard.pool().acquire().await.unwrap(), "SELECT count(*) FROM effects").await.unwrap()
}

/// Polls until `done`, with a bound that only a hang reaches.
pub(crate) async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    for _ in 0..6000 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never happened: {what}");
}
