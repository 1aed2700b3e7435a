//! Transactional mode: all of it or nothing, and a record that never waits for a lease.

use std::time::Duration;

use idem_runtime::Status;
use idem_tests::{Fixture, on_every_database, policy};

use crate::*;

/// The record is as it was, released or succeeded, and the row is there exactly when it succeeded.
async fn assert_all_or_nothing<F: Fixture>(guard: &Guard<F>, name: &str) {
    let effects = F::effects(guard.pool(), name).await;
    let Some(Reading { record, .. }) = read::<F>(guard, &policy(), name).await else {
        assert_eq!(effects, 0, "{name}: no record, yet a row");
        return;
    };
    match record.status {
        Status::Succeeded => assert_eq!(effects, 1, "{name}"),
        Status::Failed => {
            assert!(record.released_at.is_some() && record.answer.is_none(), "{name}: {record:?}");
            assert_eq!(effects, 0, "{name}");
        }
        Status::Processing | Status::Expired => panic!("{name} is stuck: {record:?}"),
    }
}

async fn a_caller_who_leaves_at_any_poll_leaves_all_or_nothing<F: Fixture>() {
    let fixture = F::create().await;
    // One connection: one that came back inside a transaction would be the next one to be lent.
    let guard = fixture.guard(1).await;
    for leaves in EITHER_WAY {
        let mut completed = false;
        for polls in 0.. {
            let name = format!("{leaves:?}-{polls}");
            let ran = poll_at_most(polls, leaves, order::<F>(&guard, &policy(), &name)).await;
            settle::<F>(&guard).await;
            assert_all_or_nothing::<F>(&guard, &name).await;
            let retry = order::<F>(&guard, &policy(), &name).await.unwrap();
            assert_eq!(retry.value(), &format!("order of {name}"));
            assert_eq!(F::effects(guard.pool(), &name).await, 1, "{name}: one effect in all");
            if let Some(first) = ran {
                assert_eq!(first.unwrap().value(), retry.value());
                assert!(retry.is_replay());
                completed = true;
                break;
            }
        }
        assert!(completed);
    }
}

async fn drain_waits_for_claims_whose_callers_are_gone<F: Fixture>() {
    let fixture = F::create().await;
    // Several connections: the one that looks is not the one that the claim holds.
    let guard = fixture.guard(4).await;
    for round in 0..300 {
        let name = format!("round-{round}");
        let ran = poll_at_most(1, Leaves::AtOnce, order::<F>(&guard, &policy(), &name)).await;
        assert!(ran.is_none(), "a claim takes more than one poll");
        assert!(guard.drain(LONG).await);
        assert_all_or_nothing::<F>(&guard, &name).await;
    }
}

async fn a_caller_who_leaves_a_statement_of_the_body_half_way_is_rolled_back<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(1).await;
    for micros in (0..2_000).step_by(100) {
        let name = format!("after-{micros}");
        let run = guard.run(&policy(), request::<F>(&guard, &name), async |mutation: &mut Mutation<F::S>| {
            // One of many statements is always under way when the time is over.
            loop {
                F::effect(mutation, &name).await?;
            }
            #[expect(unreachable_code, reason = "it gives the closure its type")]
            Ok::<Success<()>, AppError>(Success::new(()))
        });
        assert!(tokio::time::timeout(Duration::from_micros(micros), run).await.is_err());
        settle::<F>(&guard).await;
        assert_all_or_nothing::<F>(&guard, &name).await;
        order::<F>(&guard, &policy(), &name).await.unwrap();
        assert_eq!(F::effects(guard.pool(), &name).await, 1, "{name}");
    }
}

/// What an application makes of either kind of error.
#[derive(Debug)]
struct AppError;

impl From<Error> for AppError {
    fn from(_: Error) -> Self {
        Self
    }
}

impl From<sqlx::Error> for AppError {
    fn from(_: sqlx::Error) -> Self {
        Self
    }
}

on_every_database! {
    a_caller_who_leaves_at_any_poll_leaves_all_or_nothing,
    drain_waits_for_claims_whose_callers_are_gone,
    a_caller_who_leaves_a_statement_of_the_body_half_way_is_rolled_back,
}
