//! A COMMIT that is lost on its way, there or back, or late.

use std::time::Duration;

use idem_runtime::{Error, Status};
use idem_test_support::proxy::Fault;
use idem_tests::{Proxied, on_every_server, policy};

use crate::*;

async fn a_commit_whose_reply_is_lost_is_a_success<F: Proxied>() {
    for connections in POOLS {
        let setup = Setup::<F>::new(connections, PATIENT).await;
        setup.proxy.arm(Fault::CutAfterCommit);
        let first = setup.order(&policy()).await.unwrap();
        setup.proxy.fired().await;
        assert_eq!((*first.value(), first.is_replay(), setup.effects().await), (1, false, 1));
        assert_eq!(setup.record().await.status, Status::Succeeded);
        let retry = setup.order(&policy()).await.unwrap();
        assert_eq!((*retry.value(), retry.is_replay(), setup.ran()), (1, true, 1));
        assert_eq!(retry.expires_at(), first.expires_at());
        setup.drop_database().await;
    }
}

async fn a_commit_that_never_arrives_has_no_effect_and_may_be_sent_again_at_once<F: Proxied>() {
    for connections in POOLS {
        for fault in [Fault::CutBeforeCommit, Fault::HoldCommit] {
            let setup = Setup::<F>::new(connections, PATIENT).await;
            setup.proxy.arm(fault);
            let policy = policy();
            let (first, ()) = futures_util::join!(setup.order(&policy), async {
                setup.proxy.fired().await;
                setup.proxy.cut();
            });
            assert_unavailable(&first);
            assert_eq!(setup.effects().await, 0);
            setup.assert_released().await;
            assert_eq!(*setup.order(&policy).await.unwrap().value(), 2);
            assert_eq!((setup.effects().await, setup.ran()), (1, 2));
            setup.drop_database().await;
        }
    }
}

async fn a_commit_that_is_late_is_waited_for_by_the_read_back<F: Proxied>() {
    for connections in POOLS {
        let setup = Setup::<F>::new(connections, Duration::from_secs(1)).await;
        setup.proxy.arm(Fault::HoldCommit);
        let policy = policy();
        let (first, ()) = futures_util::join!(setup.order(&policy), async {
            setup.proxy.fired().await;
            // The read-back waits for the row that the transaction of the held commit has locked.
            let mut observer = setup.direct.acquire().await.unwrap();
            while F::number(&mut observer, F::LOCKED_READS).await.unwrap() == 0 {
                tokio::task::yield_now().await;
            }
            setup.proxy.release();
        });
        assert_eq!(*first.unwrap().value(), 1);
        assert_eq!((setup.effects().await, setup.ran()), (1, 1));
        assert_eq!(setup.record().await.status, Status::Succeeded);
        setup.drop_database().await;
    }
}

/// A first attempt whose commit is on its way for longer than anybody waits for it.
async fn unknown_commit<F: Proxied>(connections: u32) -> Setup<F> {
    let setup = Setup::<F>::new(connections, Duration::from_millis(300)).await;
    setup.proxy.arm(Fault::HoldCommit);
    let first = setup.order(&policy()).await;
    let Err(error @ Error::CommitUnknown) = first else { panic!("{first:?}") };
    assert_eq!((error.status(), error.is_retryable()), (503, true));
    let record = setup.record().await;
    assert_eq!((record.status, record.token.attempt), (Status::Processing, 1), "nothing is marked");
    assert!(!record.outcome_unknown && record.released_at.is_none() && record.locked_until.is_some());
    // The row is locked until the commit arrives, and its lease is left to lapse.
    let refused = setup.order(&policy()).await.unwrap_err();
    assert!(refused.is_retryable(), "{refused:?}");
    assert_eq!((setup.record().await.status, setup.ran()), (Status::Processing, 1));
    setup
}

async fn a_commit_that_cannot_be_read_back_and_arrives_later_is_replayed<F: Proxied>() {
    let replayed = async |connections| {
        let setup = unknown_commit::<F>(connections).await;
        setup.proxy.release();
        let retry = setup.order(&policy().wait(Duration::from_mins(1))).await.unwrap();
        assert_eq!((*retry.value(), retry.is_replay(), setup.ran()), (1, true, 1));
        assert_eq!(setup.effects().await, 1);
        setup.drop_database().await;
    };
    futures_util::future::join_all(POOLS.map(replayed)).await;
}

async fn a_commit_that_cannot_be_read_back_and_never_arrives_lapses_and_runs_again<F: Proxied>() {
    let run_again = async |connections| {
        let setup = unknown_commit::<F>(connections).await;
        setup.proxy.cut();
        F::pass(&setup.direct, Duration::from_hours(1)).await;
        let retry = setup.order(&policy()).await.unwrap();
        assert_eq!((*retry.value(), retry.is_replay(), setup.ran()), (2, false, 2));
        assert_eq!(setup.effects().await, 1);
        setup.drop_database().await;
    };
    futures_util::future::join_all(POOLS.map(run_again)).await;
}

on_every_server! {
    a_commit_whose_reply_is_lost_is_a_success,
    a_commit_that_never_arrives_has_no_effect_and_may_be_sent_again_at_once,
    a_commit_that_is_late_is_waited_for_by_the_read_back,
    a_commit_that_cannot_be_read_back_and_arrives_later_is_replayed,
    a_commit_that_cannot_be_read_back_and_never_arrives_lapses_and_runs_again,
}
