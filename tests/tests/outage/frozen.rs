//! A body that stands still while its transaction holds locks that the next attempt needs.

use std::time::Duration;

use idem_runtime::{Mutation, RecordKey, Status};
use idem_tests::{Proxied, on_every_server, policy};
use tokio::sync::Notify;

use crate::*;

async fn a_frozen_body_does_not_block_the_next_attempt_and_changes_nothing_when_it_wakes<F: Proxied>() {
    // One connection cannot renew; with several the lease is renewed until max_run.
    for connections in [1, 2] {
        let fixture = F::create().await;
        let (here, there) = (fixture.guard(connections).await, fixture.guard(2).await);
        let mut connection = there.pool().acquire().await.unwrap();
        let unique = "CREATE UNIQUE INDEX one_effect ON effects (name)";
        F::execute(&mut connection, unique).await.unwrap();
        drop(connection);
        let policy = policy()
            .lease(Duration::from_millis(300))
            .max_run(Duration::from_secs(2))
            .wait(Duration::from_mins(1));
        let (written, thaw) = (Notify::new(), Notify::new());
        let mut frozen =
            Box::pin(here.run(&policy, request::<F>(&here, "k"), async |mutation: &mut Mutation<F::S>| {
                F::effect(mutation, "k").await.unwrap();
                written.notify_one();
                thaw.notified().await;
                Ok::<_, Error>(Success::new(mutation.attempt()))
            }));
        tokio::select! {
            ended = &mut frozen => panic!("it waits to be thawed: {ended:?}"),
            () = written.notified() => {}
        }
        // From here on it is not polled, and its row is locked until the server ends its transaction.
        let ran = AtomicU32::new(0);
        let next = order::<F>(&there, &policy, "k", &ran).await.unwrap();
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
        assert_eq!(F::effects(there.pool(), "k").await, 1);
        let replay = order::<F>(&here, &policy, "k", &ran).await.unwrap();
        assert_eq!((*replay.value(), replay.is_replay()), (2, true));
        fixture.drop_database().await;
    }
}

on_every_server! {
    a_frozen_body_does_not_block_the_next_attempt_and_changes_nothing_when_it_wakes,
}
