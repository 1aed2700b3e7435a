//! Every other statement of ours whose reply is lost.

use std::time::Duration;

use idem_runtime::{Claim, Error, Mutation, Outcome, Status};
use idem_test_support::proxy::Fault;
use idem_tests::{Proxied, on_every_server, policy};

use crate::*;

async fn a_claim_whose_reply_is_lost_is_recognised_as_ours<F: Proxied>() {
    for connections in POOLS {
        for outside in [false, true] {
            let setup = Setup::<F>::new(connections, PATIENT).await;
            for statement in ["INTO idempotency_records", "idempotency_records SET request_hash"] {
                setup.proxy.arm(Fault::CutReplyTo(statement.to_owned()));
                let policy = policy();
                let run = async || if outside { setup.charge().await } else { setup.order(&policy).await };
                let ran = run().await.unwrap();
                setup.proxy.fired().await;
                assert_eq!(ran.value(), &ran.attempt());
                assert!(run().await.unwrap().is_replay(), "{statement}");
                // A life that is over is taken over by the second statement.
                F::pass(&setup.direct, Duration::from_hours(48)).await;
            }
            assert_eq!((setup.ran(), setup.record().await.token.attempt), (2, 2));
            assert_eq!(setup.effects().await, if outside { 0 } else { 2 });
            setup.drop_database().await;
        }
    }
}

async fn a_transaction_that_breaks_before_its_commit_is_released_at_once<F: Proxied>() {
    for connections in POOLS {
        for statement in [F::MARK, "UPDATE idempotency_records SET status = 'succeeded'"] {
            let setup = Setup::<F>::new(connections, PATIENT).await;
            setup.proxy.arm(Fault::CutReplyTo(statement.to_owned()));
            assert_unavailable(&setup.order(&policy()).await);
            assert!(setup.guard.drain(Duration::from_mins(1)).await);
            assert_eq!(setup.effects().await, 0, "{statement}");
            setup.assert_released().await;
            assert_eq!(*setup.order(&policy()).await.unwrap().value(), 2);
            assert_eq!(setup.effects().await, 1, "{statement}");
            setup.drop_database().await;
        }
    }
}

async fn an_outside_success_whose_record_lost_its_reply_is_a_success<F: Proxied>() {
    for connections in POOLS {
        let setup = Setup::<F>::new(connections, PATIENT).await;
        setup.proxy.arm(Fault::CutReplyTo("UPDATE idempotency_records SET status = 'succeeded'".to_owned()));
        let first = setup.charge().await.unwrap();
        setup.proxy.fired().await;
        assert_eq!((*first.value(), first.is_replay()), (1, false));
        let record = setup.record().await;
        assert_eq!((record.status, Some(record.expires_at)), (Status::Succeeded, first.expires_at()));
        assert!(setup.charge().await.unwrap().is_replay());
        assert_eq!(setup.ran(), 1);
        setup.drop_database().await;
    }
}

async fn a_failure_whose_record_lost_its_reply_is_the_callers_own_error<F: Proxied>() {
    for connections in POOLS {
        for outside in [false, true] {
            let setup = Setup::<F>::new(connections, PATIENT).await;
            setup.proxy.arm(Fault::CutReplyTo(F::FAIL.to_owned()));
            let run = setup.guard.operation(&policy(), setup.request()).record_failures();
            let refused: Result<Outcome<()>, Declined> = if outside {
                run.run_external(async |_: &Claim<F::S>| Err(Declined(13))).await
            } else {
                let declined = async |mutation: &mut Mutation<F::S>| {
                    F::effect(mutation, "k").await.unwrap();
                    Err(Declined(13))
                };
                run.run(declined).await
            };
            setup.proxy.fired().await;
            assert_eq!(refused.unwrap_err(), Declined(13));
            assert_eq!((setup.record().await.status, setup.effects().await), (Status::Failed, 0));
            let again = setup.guard.operation(&policy(), setup.request()).record_failures();
            let again: Result<Outcome<()>, Declined> = if outside {
                again.run_external(async |_: &Claim<F::S>| panic!("a failure is not run again")).await
            } else {
                again.run(async |_: &mut Mutation<F::S>| panic!("a failure is not run again")).await
            };
            assert_eq!(again.unwrap_err(), Declined(13));
            setup.drop_database().await;
        }
    }
}

/// The application's own error.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Declined(u32);

impl From<Error> for Declined {
    fn from(error: Error) -> Self {
        panic!("the guard puts its own error in place of the caller's: {error}")
    }
}

on_every_server! {
    a_claim_whose_reply_is_lost_is_recognised_as_ours,
    a_transaction_that_breaks_before_its_commit_is_released_at_once,
    an_outside_success_whose_record_lost_its_reply_is_a_success,
    a_failure_whose_record_lost_its_reply_is_the_callers_own_error,
}
