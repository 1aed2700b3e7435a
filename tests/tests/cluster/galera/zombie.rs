//! An attempt whose node stands still past the lease, and wakes when another attempt has ended.

use std::sync::Arc;

use idem_runtime::mysql::{Claim, Mutation};
use idem_runtime::{Error, Outcome, Success};
use idem_test_support::galera::Galera;
use idem_tests::{Fixture, OnMysql, key, scope};
use tokio::sync::Barrier;

use crate::load::{Load, short};

/// Where an attempt stands still: once when its body has begun, and once until its node is awake.
type Gate = Arc<(Barrier, Barrier)>;

async fn inside(
    load: &Load<OnMysql>,
    node: usize,
    name: &str,
    gate: Option<Gate>,
) -> Result<Outcome<i64>, Error> {
    let guard = &load.guards[node];
    let request = guard.request(scope(), key(name)).of("book").unwrap();
    guard
        .run(&short(), request, async |mutation: &mut Mutation| {
            OnMysql::effect(mutation, name).await.unwrap();
            stand_still(gate).await;
            Ok(Success::new(mutation.attempt()))
        })
        .await
}

async fn outside(
    load: &Load<OnMysql>,
    node: usize,
    name: &str,
    gate: Option<Gate>,
) -> Result<Outcome<i64>, Error> {
    let guard = &load.guards[node];
    let request = guard.request(scope(), key(name)).of("book").unwrap();
    guard
        .run_external(&short(), request, async |claim: &Claim| {
            stand_still(gate).await;
            Ok(Success::new(claim.attempt()))
        })
        .await
}

async fn stand_still(gate: Option<Gate>) {
    if let Some(gate) = gate {
        gate.0.wait().await;
        gate.1.wait().await;
    }
}

/// Asks until the lease of the zombie has lapsed and somebody else has ended.
async fn succeed(mut ask: impl AsyncFnMut() -> Result<Outcome<i64>, Error>) {
    loop {
        match ask().await {
            Ok(outcome) => return assert_eq!(*outcome.value(), 2),
            Err(error) => assert!(error.is_retryable(), "{error:?}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// It is told what its successor did, or that its node cannot say; never that it was the first.
fn is_no_first_answer(woken: Result<Outcome<i64>, Error>) {
    match woken {
        Ok(outcome) => assert!(outcome.is_replay() && *outcome.value() == 2, "{outcome:?}"),
        Err(error) => assert!(matches!(error.status(), 409 | 503), "{error:?}"),
    }
}

pub(crate) async fn a_zombie_on_a_node_that_was_frozen_cannot_complete(
    cluster: &Galera,
    load: &Load<OnMysql>,
    round: usize,
) {
    let [within, without] = [format!("inside-{round}"), format!("outside-{round}")];
    let gate: Gate = Arc::new((Barrier::new(3), Barrier::new(3)));
    let (first, second, ()) = futures_util::join!(
        inside(load, 2, &within, Some(Arc::clone(&gate))),
        outside(load, 2, &without, Some(Arc::clone(&gate))),
        async {
            gate.0.wait().await;
            cluster.freeze(2);
            succeed(async || inside(load, 0, &within, None).await).await;
            succeed(async || outside(load, 1, &without, None).await).await;
            cluster.thaw(2);
            gate.1.wait().await;
        }
    );
    is_no_first_answer(first);
    is_no_first_answer(second);
    cluster_is_whole(cluster).await;
    for node in 0..3 {
        assert_eq!(OnMysql::effects(load.guards[node].pool(), &within).await, 1);
        for replay in [inside(load, node, &within, None).await, outside(load, node, &without, None).await] {
            let replay = replay.unwrap();
            assert!(replay.is_replay() && *replay.value() == 2, "{replay:?}");
        }
    }
}

async fn cluster_is_whole(cluster: &Galera) {
    cluster.has_size(2, 3).await;
    while cluster.status(2, "wsrep_local_state_comment").await.as_deref() != Some("Synced") {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
