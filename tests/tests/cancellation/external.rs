//! External mode: released before the body began, and left to `on_lapse` once it was polled.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::{OnLapse, Status};
use idem_tests::{Fixture, on_every_database, policy};
use tokio::sync::Notify;

use crate::*;

/// Leaves a run after each number of polls and gives what the retry got to `judge`.
async fn leave_at_every_poll<F: Fixture>(on_lapse: OnLapse, judge: impl Fn(&Left)) {
    let fixture = F::create().await;
    let guard = fixture.guard(1).await;
    let policy = policy().on_lapse(on_lapse);
    for leaves in EITHER_WAY {
        let mut completed = false;
        let mut polls = 0;
        while !completed {
            let name = format!("{leaves:?}-{polls}");
            let begun = AtomicU32::new(0);
            let count = || {
                begun.fetch_add(1, Ordering::SeqCst);
            };
            let ran = poll_at_most(polls, leaves, charge::<F>(&guard, &policy, &name, count)).await;
            settle::<F>(&guard).await;
            let mut left = Left {
                name: name.clone(),
                reading: read::<F>(&guard, &policy, &name).await,
                begun_first: begun.load(Ordering::SeqCst),
                begun_in_all: 0,
                retry: charge::<F>(&guard, &policy, &name, count).await,
            };
            left.begun_in_all = begun.load(Ordering::SeqCst);
            left.assert_state();
            judge(&left);
            completed = ran.is_some();
            polls += 1;
        }
    }
}

/// What a departed caller left, and what the next one got.
struct Left {
    name: String,
    reading: Option<Reading>,
    begun_first: u32,
    begun_in_all: u32,
    retry: Result<Outcome<i64>, Error>,
}

impl Left {
    /// Whether the body had begun and nothing of its end is known.
    fn lapsed(&self) -> bool {
        self.reading.as_ref().is_some_and(|reading| reading.record.status == Status::Processing)
    }

    fn assert_state(&self) {
        let Self { name, begun_first, .. } = self;
        let Some(Reading { record, now }) = &self.reading else {
            assert_eq!(*begun_first, 0, "{name}: a body needs a record");
            return;
        };
        match record.status {
            Status::Failed => {
                assert_eq!(*begun_first, 0, "{name} was released although its body had begun");
                assert!(record.released_at.is_some() && record.answer.is_none(), "{name}: {record:?}");
            }
            Status::Processing => {
                assert_eq!(*begun_first, 1, "{name} is stuck although its body had not begun: {record:?}");
                assert!(record.locked_until.unwrap() <= *now, "{name} has a live lease: {record:?}");
                assert!(!record.outcome_unknown, "{name}");
            }
            Status::Succeeded => assert_eq!(*begun_first, 1, "{name}"),
            Status::Expired => panic!("{name}: {record:?}"),
        }
    }

    /// The answer of a first run where the body had not begun, or the replay where it had ended.
    fn assert_once(&self) {
        let Self { name, begun_in_all, retry, .. } = self;
        let retry = retry.as_ref().unwrap();
        assert_eq!(*begun_in_all, 1, "{name}");
        assert_eq!((retry.is_replay(), retry.task_id()), (self.begun_first == 1, Some("task-1")), "{name}");
    }
}

async fn a_caller_who_leaves_a_rerunnable_body_at_any_poll_lets_the_next_attempt_run<F: Fixture>() {
    leave_at_every_poll::<F>(OnLapse::Rerun, |left| {
        if left.lapsed() {
            let retry = left.retry.as_ref().unwrap();
            assert_eq!((*retry.value(), retry.is_replay()), (2, false), "{}", left.name);
            assert_eq!(left.begun_in_all, 2, "{}", left.name);
        } else {
            left.assert_once();
        }
    })
    .await;
}

async fn a_caller_who_leaves_a_refusing_body_at_any_poll_leaves_an_unknown_outcome<F: Fixture>() {
    leave_at_every_poll::<F>(OnLapse::Refuse, |left| {
        if left.lapsed() {
            assert!(matches!(left.retry, Err(Error::OutcomeUnknown)), "{}: {:?}", left.name, left.retry);
            assert_eq!(left.begun_in_all, 1, "{}", left.name);
        } else {
            left.assert_once();
        }
    })
    .await;
}

async fn a_lease_that_is_being_renewed_ends_when_its_caller_leaves<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let policy = policy().lease(Duration::from_millis(30));
    for round in 0..200 {
        let name = format!("round-{round}");
        let begun = Notify::new();
        let run = guard.run_external(&policy, request::<F>(&guard, &name), async |_: &Claim<F::S>| {
            begun.notify_one();
            std::future::pending::<Result<Success<()>, Error>>().await
        });
        let about_to_renew = async {
            begun.notified().await;
            // A third of the lease is when it is renewed: now and then that is just under way.
            tokio::time::sleep(Duration::from_micros(9_000 + round % 25 * 100)).await;
        };
        tokio::select! {
            ran = run => panic!("the body does not end: {ran:?}"),
            () = about_to_renew => {}
        }
        assert!(guard.drain(LONG).await);
        for _ in 0..3 {
            let Reading { record, now } = read::<F>(&guard, &policy, &name).await.unwrap();
            assert!(record.locked_until.unwrap() <= now, "{name} was renewed for nobody: {record:?}");
        }
    }
}

on_every_database! {
    a_lease_that_is_being_renewed_ends_when_its_caller_leaves,
    a_caller_who_leaves_a_rerunnable_body_at_any_poll_lets_the_next_attempt_run,
    a_caller_who_leaves_a_refusing_body_at_any_poll_leaves_an_unknown_outcome,
}
