//! A body that stands still while its transaction holds locks that the next attempt needs.

use std::time::Duration;

use idem_runtime::postgres::Mutation;
use idem_runtime::{RecordKey, Status};
use idem_tests::{OnPostgres, policy};
use tokio::sync::Notify;

use crate::*;

#[tokio::test]
async fn a_frozen_body_does_not_block_the_next_attempt_and_changes_nothing_when_it_wakes() {
    // One connection cannot renew; with several the lease is renewed until max_run.
    for connections in [1, 2] {
        let fixture = OnPostgres::create().await;
        let (here, there) = (fixture.guard(connections).await, fixture.guard(2).await);
        let mut connection = there.pool().acquire().await.unwrap();
        let unique = "CREATE UNIQUE INDEX one_effect ON effects (name)";
        OnPostgres::execute(&mut connection, unique).await.unwrap();
        drop(connection);
        let policy = policy()
            .lease(Duration::from_millis(300))
            .max_run(Duration::from_secs(2))
            .wait(Duration::from_mins(1));
        let (written, thaw) = (Notify::new(), Notify::new());
        let mut frozen = Box::pin(here.run(
            &policy,
            request::<OnPostgres>(&here, "k"),
            async |mutation: &mut Mutation| {
                OnPostgres::effect(mutation, "k").await.unwrap();
                written.notify_one();
                thaw.notified().await;
                Ok::<_, Error>(Success::new(mutation.attempt()))
            },
        ));
        tokio::select! {
            ended = &mut frozen => panic!("it waits to be thawed: {ended:?}"),
            () = written.notified() => {}
        }
        // From here on it is not polled, and its row is locked until the server ends its transaction.
        let ran = AtomicU32::new(0);
        let next = order::<OnPostgres>(&there, &policy, "k", &ran).await.unwrap();
        assert_eq!((*next.value(), next.is_replay(), ran.load(Ordering::SeqCst)), (2, false, 1));
        let key = RecordKey::new(scope(), policy.route().clone(), key("k"));
        let before = there.read(&key).await.unwrap().unwrap().record;
        assert_eq!(before.status, Status::Succeeded);

        thaw.notify_one();
        match frozen.await {
            Ok(answer) => assert_eq!((*answer.value(), answer.is_replay()), (2, true)),
            Err(error) => assert!(error.is_retryable(), "{error:?}"),
        }
        assert_eq!(there.read(&key).await.unwrap().unwrap().record, before);
        assert_eq!(OnPostgres::effects(there.pool(), "k").await, 1);
        let replay = order::<OnPostgres>(&here, &policy, "k", &ran).await.unwrap();
        assert_eq!((*replay.value(), replay.is_replay()), (2, true));
        fixture.0.drop_database().await;
    }
}
