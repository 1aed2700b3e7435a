//! A duplicate that leaves while it waits for its twin.

use idem_runtime::Status;
use idem_tests::{Fixture, on_every_database, policy};
use tokio::sync::Notify;

use crate::*;

async fn a_duplicate_who_leaves_while_it_waits_leaves_nothing_behind<F: Fixture>() {
    let fixture = F::create().await;
    // The twin outside holds no connection, the one inside holds one of two.
    for (mode, connections) in [("outside", 1), ("inside", 2)] {
        let guard = fixture.guard(connections).await;
        let (begun, finish) = (Notify::new(), Notify::new());
        let twin = async {
            let wait = async || {
                begun.notify_one();
                finish.notified().await;
                Ok::<_, Error>(Success::new(String::from("twin")))
            };
            let request = request::<F>(&guard, mode);
            if mode == "outside" {
                guard.run_external(&policy(), request, async |_: &Claim<F::S>| wait().await).await
            } else {
                guard.run(&policy(), request, async |_: &mut Mutation<F::S>| wait().await).await
            }
        };
        let duplicates = async {
            begun.notified().await;
            let before = read::<F>(&guard, &policy(), mode).await.unwrap().record;
            for leaves in EITHER_WAY {
                for polls in 0..8 {
                    let waiting = policy().wait(LONG);
                    let left = poll_at_most(polls, leaves, order::<F>(&guard, &waiting, mode)).await;
                    assert!(left.is_none(), "{mode}-{polls}: {left:?}");
                }
            }
            let after = read::<F>(&guard, &policy(), mode).await.unwrap().record;
            assert_eq!((after.status, after.token), (Status::Processing, before.token), "{mode}");
            // The last of them may look while the others leave; it gets the twin's answer.
            let waiting = policy().wait(LONG);
            let mut last = Box::pin(order::<F>(&guard, &waiting, mode));
            assert!(poll_at_most(3, Leaves::AtOnce, last.as_mut()).await.is_none());
            finish.notify_one();
            last.await
        };
        let (first, last) = futures_util::join!(twin, duplicates);
        assert_eq!(first.unwrap().value(), "twin");
        assert_eq!(last.unwrap().value(), "twin", "{mode}");
        settle::<F>(&guard).await;
        assert_eq!(read::<F>(&guard, &policy(), mode).await.unwrap().record.status, Status::Succeeded);
        assert_eq!(F::effects(guard.pool(), mode).await, 0, "{mode}: a duplicate ran");
    }
}

on_every_database! {
    a_duplicate_who_leaves_while_it_waits_leaves_nothing_behind,
}
