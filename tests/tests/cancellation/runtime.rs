//! A whole runtime that ends while bodies run in it.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::Status;
use idem_tests::{Fixture, on_every_database, policy};
use tokio::sync::oneshot;

use crate::*;

async fn a_runtime_that_ends_under_a_body_leaves_a_record_that_lapses<F: Fixture>() {
    let fixture = Arc::new(F::create().await);
    let policy = policy().lease(Duration::from_millis(300)).wait(LONG);
    for mode in ["inside", "outside"] {
        let ending =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (begun, body_begun) = oneshot::channel();
        let (database, terms) = (Arc::clone(&fixture), policy.clone());
        ending.spawn(async move {
            let guard = database.guard(2).await;
            let request = request::<F>(&guard, mode);
            if mode == "inside" {
                let run = guard.run(&terms, request, async |mutation: &mut Mutation<F::S>| {
                    F::effect(mutation, mode).await.unwrap();
                    begun.send(()).unwrap();
                    std::future::pending::<Result<Success<String>, Error>>().await
                });
                run.await
            } else {
                let run = guard.run_external(&terms, request, async |_: &Claim<F::S>| {
                    begun.send(()).unwrap();
                    std::future::pending::<Result<Success<String>, Error>>().await
                });
                run.await
            }
        });
        body_begun.await.unwrap();
        ending.shutdown_background();

        let guard = fixture.guard(2).await;
        let left = read::<F>(&guard, &policy, mode).await.unwrap().record;
        assert_eq!(left.token.attempt, 1);
        assert!(matches!(left.status, Status::Processing | Status::Failed), "{mode}: {left:?}");
        // It waits until the lease has lapsed, as nobody renews it any more.
        let retry = order::<F>(&guard, &policy, mode).await.unwrap();
        assert_eq!((retry.is_replay(), retry.attempt()), (false, 2), "{mode}");
        assert_eq!(F::effects(guard.pool(), mode).await, 1, "{mode}");
        settle::<F>(&guard).await;
    }
}

on_every_database! {
    a_runtime_that_ends_under_a_body_leaves_a_record_that_lapses,
}
