//! An attempt outside in several steps: a later attempt goes on behind what is finished.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::{Claim, DownstreamKey, Error, Mutation, Outcome, Policy, Success};
use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

/// A trip whose attempt may stop before its last step, with what happened outside.
struct Trip<F: Fixture> {
    _fixture: F,
    guard: Guard<F>,
    policy: Policy,
    keys: Mutex<Vec<(&'static str, DownstreamKey)>>,
}

impl<F: Fixture> Trip<F> {
    async fn new() -> Self {
        let fixture = F::create().await;
        let (guard, policy) = (fixture.guard(4).await, policy().retry_failed(true));
        Self { _fixture: fixture, guard, policy, keys: Mutex::default() }
    }

    fn called(&self, name: &'static str, key: DownstreamKey) -> String {
        self.keys.lock().unwrap().push((name, key));
        format!("{name} done")
    }

    async fn book(&self, fails: bool) -> Result<Outcome<String>, Error> {
        let request = request::<F>(&self.guard, "k", "book");
        let body = async |claim: &Claim<F::S>| {
            let room: String =
                claim.step("room", async |key| Ok::<_, Error>(self.called("room", key))).await?;
            let note = async |mutation: &mut Mutation<F::S>| {
                F::effect(mutation, "note").await.unwrap();
                Ok::<_, Error>(7)
            };
            let note: i32 = claim.step_in_transaction("note", note).await?;
            let last = async |key: DownstreamKey| {
                let done = self.called("charge", key);
                if fails { Err(Error::Failed) } else { Ok(done) }
            };
            let charge: String = claim.step("charge", last).await?;
            Ok(Success::new(format!("{room}, {note}, {charge}")))
        };
        self.guard.run_external(&self.policy, request, body).await
    }

    fn calls(&self, name: &str) -> Vec<DownstreamKey> {
        let keys = self.keys.lock().unwrap();
        keys.iter().filter(|(called, _)| *called == name).map(|(_, key)| key.clone()).collect()
    }
}

async fn a_finished_step_is_not_taken_again<F: Fixture>() {
    let trip = Trip::<F>::new().await;
    for _ in 0..3 {
        assert!(trip.book(true).await.is_err());
    }
    let booked = trip.book(false).await.unwrap();
    assert_eq!((booked.value().as_str(), booked.attempt()), ("room done, 7, charge done", 4));
    assert_eq!(trip.calls("room").len(), 1);
    assert_eq!(F::effects(trip.guard.pool(), "note").await, 1);
    let charges = trip.calls("charge");
    assert_eq!(charges.len(), 4);
    assert!(charges.iter().all(|key| *key == charges[0] && *key != trip.calls("room")[0]), "{charges:?}");
    let mut connection = trip.guard.pool().acquire().await.unwrap();
    let left = "SELECT count(*) FROM idempotency_records WHERE steps IS NOT NULL";
    assert_eq!(F::number(&mut connection, left).await.unwrap(), 0, "a success needs its steps no more");
}

async fn an_attempt_that_stopped_is_continued_behind_its_last_finished_step<F: Fixture>() {
    let trip = Trip::<F>::new().await;
    let stopped = request::<F>(&trip.guard, "k", "book");
    let run = trip.guard.run_external(&trip.policy, stopped, async |claim: &Claim<F::S>| {
        let _: String = claim.step("room", async |key| Ok::<_, Error>(trip.called("room", key))).await?;
        let never = async |_: &mut Mutation<F::S>| std::future::pending::<Result<i32, Error>>().await;
        claim.step_in_transaction("note", never).await.map(Success::new)
    });
    assert!(tokio::time::timeout(SECOND, run).await.is_err());
    assert!(trip.guard.drain(SECOND * 30).await);
    assert_eq!(trip.book(false).await.unwrap().attempt(), 2);
    assert_eq!((trip.calls("room").len(), F::effects(trip.guard.pool(), "note").await), (1, 1));
}

async fn a_new_life_of_the_key_begins_without_steps<F: Fixture>() {
    let trip = Trip::<F>::new().await;
    assert!(trip.book(true).await.is_err());
    F::pass(trip.guard.pool(), SECOND * 3600 * 48).await;
    assert_eq!(trip.book(false).await.unwrap().attempt(), 2);
    let rooms = trip.calls("room");
    assert!(rooms.len() == 2 && rooms[0] != rooms[1], "{rooms:?}");
}

async fn a_zombie_cannot_keep_a_step<F: Fixture>() {
    let trip = Trip::<F>::new().await;
    let stopped = request::<F>(&trip.guard, "k", "book");
    let ran: Result<Outcome<String>, Error> = trip
        .guard
        .run_external(&trip.policy, stopped, async |claim: &Claim<F::S>| {
            let _: i32 = claim.step("first", async |_| Ok::<_, Error>(1)).await?;
            // Frozen beyond its lease; the next attempt takes its own steps and succeeds.
            let lapse = "UPDATE idempotency_records SET locked_until = created_at";
            F::execute(&mut *trip.guard.pool().acquire().await.unwrap(), lapse).await.unwrap();
            let other = trip.guard.clone();
            let successor = request::<F>(&other, "k", "book");
            let policy = trip.policy.clone();
            tokio::spawn(async move {
                let body = async |_: &Claim<F::S>| Ok::<_, Error>(Success::new("of the next".to_owned()));
                other.run_external(&policy, successor, body).await.unwrap();
            })
            .await
            .unwrap();
            let kept = claim.step("second", async |_| Ok::<_, Error>(2)).await;
            assert!(matches!(kept, Err(Error::Lost)), "{kept:?}");
            let row = async |mutation: &mut Mutation<F::S>| {
                F::effect(mutation, "zombie").await.unwrap();
                Ok::<_, Error>(3)
            };
            let kept = claim.step_in_transaction("third", row).await;
            assert!(matches!(kept, Err(Error::Lost)), "{kept:?}");
            Err(Error::Lost)
        })
        .await;
    assert_eq!(ran.unwrap().value(), "of the next");
    assert_eq!(F::effects(trip.guard.pool(), "zombie").await, 0);
}

async fn a_step_whose_value_cannot_be_kept_is_never_taken_for_a_failure<F: Fixture>() {
    let trip = Trip::<F>::new().await;
    let ran = AtomicU32::new(0);
    for _ in 0..2 {
        let request = request::<F>(&trip.guard, "k", "book");
        let unkept: Result<Outcome<()>, Error> = trip
            .guard
            .run_external(&trip.policy, request, async |claim: &Claim<F::S>| {
                ran.fetch_add(1, Ordering::SeqCst);
                let odd = std::collections::BTreeMap::from([((1, 2), 3)]);
                let kept = claim.step("odd", async |_| Ok::<_, Error>(odd)).await;
                assert!(matches!(kept, Err(Error::AnswerNotRecordable { .. })), "{kept:?}");
                Err(Error::Failed)
            })
            .await;
        assert!(matches!(unkept, Err(Error::OutcomeUnknown)), "{unkept:?}");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 1);
}

async fn a_failed_step_in_a_transaction_leaves_no_rows<F: Fixture>() {
    let trip = Trip::<F>::new().await;
    let request = request::<F>(&trip.guard, "k", "book");
    trip.guard
        .run_external(&trip.policy, request, async |claim: &Claim<F::S>| {
            for fails in [true, false, true] {
                let row = async |mutation: &mut Mutation<F::S>| {
                    F::effect(mutation, "row").await.unwrap();
                    if fails { Err(Error::Failed) } else { Ok(1) }
                };
                let _ = claim.step_in_transaction("row", row).await;
            }
            let twice =
                claim.step_in_transaction("row", async |_: &mut Mutation<F::S>| Ok::<_, Error>(2)).await;
            assert_eq!(twice.unwrap(), 1, "a name stands for one step");
            Ok::<_, Error>(Success::new(()))
        })
        .await
        .unwrap();
    assert_eq!(F::effects(trip.guard.pool(), "row").await, 1);
}

on_every_database! {
    a_finished_step_is_not_taken_again,
    an_attempt_that_stopped_is_continued_behind_its_last_finished_step,
    a_new_life_of_the_key_begins_without_steps,
    a_zombie_cannot_keep_a_step,
    a_step_whose_value_cannot_be_kept_is_never_taken_for_a_failure,
    a_failed_step_in_a_transaction_leaves_no_rows,
}
