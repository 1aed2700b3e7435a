//! Many callers of one key, at each isolation level.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::mysql::{Guard, Mutation};
use idem_runtime::{Error, Outcome, Success};
use idem_tests::{Fixture, OnMysql, policy};
use tokio::sync::Barrier;

use crate::*;

const RACERS: usize = 16;
const ROUNDS: usize = 15;

async fn order(guard: &Guard, name: &str) -> Result<Outcome<String>, Error> {
    let operation = guard.operation(&policy(), request(guard, name)).release_on(Error::is_retryable);
    operation
        .run(async |mutation: &mut Mutation| {
            // A read first, which fixes the snapshot where there is one.
            let seen = OnMysql::number(mutation, "SELECT count(*) FROM effects").await;
            seen.map_err(|error| Error::StoreUnavailable(Some(error.into())))?;
            let written = OnMysql::effect(mutation, name).await;
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

async fn race(settings: &[(&str, &str)]) {
    let (_fixture, pool) = sessions(settings).await;
    let guard = Guard::builder(pool).build().await.unwrap();
    for round in 0..ROUNDS {
        let name = format!("round-{round}");
        let start = Arc::new(Barrier::new(RACERS));
        let racer = || {
            let (guard, name, start) = (guard.clone(), name.clone(), Arc::clone(&start));
            tokio::spawn(async move {
                start.wait().await;
                insist(&guard, &name).await
            })
        };
        let racers: Vec<_> = (0..RACERS).map(|_| racer()).collect();
        for racer in racers {
            assert_eq!(racer.await.unwrap(), format!("order of {name}"));
        }
        assert_eq!(OnMysql::effects(guard.pool(), &name).await, 1, "{name} with {settings:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racers_of_one_key_have_one_effect_at_every_level() {
    for level in ["READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"] {
        race(&[("tx_isolation", level)]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racers_of_one_key_have_one_effect_under_snapshots() {
    race(&[("tx_isolation", "REPEATABLE-READ"), ("innodb_snapshot_isolation", "ON")]).await;
}
