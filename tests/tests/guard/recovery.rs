//! What follows an attempt that stopped half-way where the provider can be asked.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use idem_runtime::{Claim, Error, OnLapse, Outcome, Policy, Recovery, Success};
use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

/// A guard, and a request whose first attempt reached the provider's door and was never seen again.
struct Stopped<F: Fixture> {
    _fixture: F,
    guard: Guard<F>,
    policy: Policy,
    runs: AtomicU32,
    asks: AtomicU32,
}

impl<F: Fixture> Stopped<F> {
    async fn new() -> Self {
        let fixture = F::create().await;
        let (guard, policy) = (fixture.guard(2).await, policy().on_lapse(OnLapse::Recover));
        let request = request::<F>(&guard, "k", "book");
        let run = guard.run_external(&policy, request, async |_: &Claim<F::S>| {
            std::future::pending::<Result<Success<i64>, Error>>().await
        });
        // Polled and dropped: the body has begun, so only its lease ends.
        assert!(tokio::time::timeout(Duration::from_millis(200), run).await.is_err());
        assert!(guard.drain(SECOND * 30).await);
        Self { _fixture: fixture, guard, policy, runs: AtomicU32::new(0), asks: AtomicU32::new(0) }
    }

    /// One more request, whose provider answers `found`; a run gives 2.
    async fn again(&self, found: Recovery<i64>) -> Result<Outcome<i64>, Error> {
        let request = request::<F>(&self.guard, "k", "book");
        let body = async |claim: &Claim<F::S>| {
            let ask = async {
                self.asks.fetch_add(1, Ordering::SeqCst);
                found
            };
            if let Some(value) = claim.recover(ask).await? {
                return Ok(Success::new(value));
            }
            self.runs.fetch_add(1, Ordering::SeqCst);
            Ok(Success::new(2))
        };
        self.guard.run_external(&self.policy, request, body).await
    }

    fn counts(&self) -> (u32, u32) {
        (self.runs.load(Ordering::SeqCst), self.asks.load(Ordering::SeqCst))
    }
}

async fn a_success_that_the_provider_knows_is_recorded_and_replayed<F: Fixture>() {
    let stopped = Stopped::<F>::new().await;
    for replay in [false, true] {
        let outcome = stopped.again(Recovery::Done(1)).await.unwrap();
        assert_eq!((*outcome.value(), outcome.is_replay(), outcome.attempt()), (1, replay, 2));
    }
    assert_eq!(stopped.counts(), (0, 1));
}

async fn a_request_that_the_provider_never_got_runs<F: Fixture>() {
    let stopped = Stopped::<F>::new().await;
    assert_eq!(*stopped.again(Recovery::Absent).await.unwrap().value(), 2);
    assert_eq!(stopped.counts(), (1, 1));
}

async fn an_unknown_outcome_never_runs_again<F: Fixture>() {
    let stopped = Stopped::<F>::new().await;
    assert!(matches!(stopped.again(Recovery::Unknown).await, Err(Error::OutcomeUnknown)));
    F::pass(stopped.guard.pool(), SECOND * 3600 * 48).await;
    assert!(matches!(stopped.again(Recovery::Absent).await, Err(Error::OutcomeUnknown)));
    assert_eq!(stopped.counts(), (0, 1));
}

async fn a_body_that_does_not_ask_ends_as_unknown<F: Fixture>() {
    let stopped = Stopped::<F>::new().await;
    let request = request::<F>(&stopped.guard, "k", "book");
    let body = async |_: &Claim<F::S>| Ok::<_, Error>(Success::new(3));
    let refused = stopped.guard.run_external(&stopped.policy, request, body).await;
    assert!(matches!(refused, Err(Error::OutcomeUnknown)), "{refused:?}");
    assert!(matches!(stopped.again(Recovery::Done(1)).await, Err(Error::OutcomeUnknown)));
}

async fn a_panic_while_asking_leaves_the_outcome_unknown<F: Fixture>() {
    let stopped = Stopped::<F>::new().await;
    let request = request::<F>(&stopped.guard, "k", "book");
    let body = async |claim: &Claim<F::S>| {
        claim
            .recover::<i64>(async { panic!("the provider's client is broken") })
            .await
            .map(|_| Success::new(3))
    };
    let run = stopped.guard.run_external::<i64, Error, _>(&stopped.policy, request, body);
    assert!(AssertUnwindSafe(run).catch_unwind().await.is_err());
    assert!(matches!(stopped.again(Recovery::Absent).await, Err(Error::OutcomeUnknown)));
    assert_eq!(stopped.counts(), (0, 0));
}

async fn an_attempt_that_stops_while_it_asks_leaves_the_question_to_the_next<F: Fixture>() {
    let stopped = Stopped::<F>::new().await;
    let request = request::<F>(&stopped.guard, "k", "book");
    let body = async |claim: &Claim<F::S>| {
        claim.recover::<i64>(std::future::pending()).await.map(|_| Success::new(3))
    };
    let run = stopped.guard.run_external::<i64, Error, _>(&stopped.policy, request, body);
    assert!(tokio::time::timeout(Duration::from_millis(200), run).await.is_err());
    assert!(stopped.guard.drain(SECOND * 30).await);
    assert_eq!(*stopped.again(Recovery::Done(1)).await.unwrap().value(), 1);
    assert_eq!(stopped.counts(), (0, 1));
}

async fn an_attempt_that_leaves_before_its_body_leaves_the_question_to_the_next<F: Fixture>() {
    let stopped = Stopped::<F>::new().await;
    let request = request::<F>(&stopped.guard, "k", "book");
    let body = async |_: &Claim<F::S>| Ok::<_, Error>(Success::new(3));
    // Polled once, which sends the claim, and dropped before the claim has come back.
    let run = stopped.guard.run_external(&stopped.policy, request, body);
    assert!(run.now_or_never().is_none());
    assert!(stopped.guard.drain(SECOND * 30).await);
    let outcome = stopped.again(Recovery::Done(1)).await.unwrap();
    assert_eq!((*outcome.value(), outcome.attempt()), (1, 3));
    assert_eq!(stopped.counts(), (0, 1));
}

async fn a_first_attempt_asks_nobody<F: Fixture>() {
    let stopped = Stopped::<F>::new().await;
    let request = request::<F>(&stopped.guard, "fresh", "book");
    let body = async |claim: &Claim<F::S>| {
        let found = claim.recover(async { Recovery::Done(9) }).await?;
        Ok::<_, Error>(Success::new(found.unwrap_or(2)))
    };
    let outcome = stopped.guard.run_external(&stopped.policy, request, body).await.unwrap();
    assert_eq!(*outcome.value(), 2);
}

on_every_database! {
    a_success_that_the_provider_knows_is_recorded_and_replayed,
    a_request_that_the_provider_never_got_runs,
    an_unknown_outcome_never_runs_again,
    a_body_that_does_not_ask_ends_as_unknown,
    a_panic_while_asking_leaves_the_outcome_unknown,
    an_attempt_that_stops_while_it_asks_leaves_the_question_to_the_next,
    an_attempt_that_leaves_before_its_body_leaves_the_question_to_the_next,
    a_first_attempt_asks_nobody,
}
