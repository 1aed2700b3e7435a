//! Many callers of one key where each statement may fail with a serialization failure.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::postgres::{Guard, Mutation};
use idem_runtime::{Error, Outcome, Success};
use idem_tests::{Fixture, OnPostgres, policy};
use tokio::sync::Barrier;

use crate::*;

const RACERS: usize = 32;
const ROUNDS: usize = 30;

async fn order(guard: &Guard, name: &str) -> Result<Outcome<String>, Error> {
    let request = request(guard, name);
    guard
        // What a statement of the body is refused for is the body's to say: here it is worth another try.
        .operation(&policy(), request)
        .release_on(Error::is_retryable)
        .run(async |mutation: &mut Mutation| {
            let written = OnPostgres::effect(mutation, name).await;
            written.map_err(|error| Error::StoreUnavailable(Some(error.into())))?;
            Ok(Success::new(format!("order of {name}")))
        })
        .await
}

/// Sends one request until it is answered, as a client does that is told to.
async fn insist(guard: &Guard, name: &str) -> String {
    for _ in 0..1_000 {
        match order(guard, name).await {
            Ok(outcome) => return outcome.into_value(),
            Err(error @ (Error::InProgress { .. } | Error::StoreUnavailable(_))) => {
                assert!(error.is_retryable());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{name}: {error:?}"),
        }
    }
    panic!("{name}: no answer after a thousand requests");
}

async fn racers_of_one_key_have_one_effect(level: &str) {
    let (fixture, guard) = snapshot_guard(level, 16).await;
    for round in 0..ROUNDS {
        let name = format!("round-{round}");
        let start = Arc::new(Barrier::new(RACERS));
        let racers: Vec<_> = (0..RACERS)
            .map(|_| {
                let (guard, name, start) = (guard.clone(), name.clone(), Arc::clone(&start));
                tokio::spawn(async move {
                    start.wait().await;
                    insist(&guard, &name).await
                })
            })
            .collect();
        for racer in racers {
            assert_eq!(racer.await.unwrap(), format!("order of {name}"));
        }
        assert_eq!(OnPostgres::effects(guard.pool(), &name).await, 1, "{name}");
    }
    fixture.0.drop_database().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racers_of_one_key_have_one_effect_at_repeatable_read() {
    racers_of_one_key_have_one_effect("repeatable read").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racers_of_one_key_have_one_effect_at_serializable() {
    racers_of_one_key_have_one_effect("serializable").await;
}
