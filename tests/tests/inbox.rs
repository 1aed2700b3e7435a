//! What a consumer of messages is promised: each message one effect, and a failed one again.

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::{Claim, Error, Inbox, Mutation, Outcome};
use idem_tests::{Fixture, on_every_database, scope};

const ODD: &str = "Größe \"17\",\u{1}\u{1F980}; a message id of any length: ";

async fn receive<F: Fixture>(
    inbox: &Inbox<F::S>,
    id: &str,
    payload: u32,
    fails: bool,
) -> Result<Outcome<()>, Error> {
    inbox
        .receive(scope(), id, &payload, async |mutation: &mut Mutation<F::S>| {
            F::effect(mutation, "message").await.unwrap();
            if fails { Err(Error::Failed) } else { Ok(()) }
        })
        .await
}

async fn a_message_takes_effect_once_however_often_it_is_delivered<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(8).await;
    let inbox = Inbox::new(guard.clone(), "payments.settled").unwrap();
    let long = ODD.repeat(20);
    for (number, id) in ["17", "", ODD, &long].into_iter().enumerate() {
        let two = tokio::join!(receive::<F>(&inbox, id, 5, false), receive::<F>(&inbox, id, 5, false));
        assert!(two.0.is_ok() || two.1.is_ok(), "{two:?}");
        assert!(receive::<F>(&inbox, id, 5, false).await.unwrap().is_replay());
        let count = i64::try_from(number).unwrap() + 1;
        assert_eq!(F::effects(guard.pool(), "message").await, count, "{id}");
    }
}

async fn a_failed_message_leaves_nothing_and_may_come_again<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let inbox = Inbox::new(guard.clone(), "payments.settled").unwrap();
    for _ in 0..3 {
        assert!(receive::<F>(&inbox, "17", 5, true).await.is_err());
        assert_eq!(F::effects(guard.pool(), "message").await, 0);
    }
    assert!(!receive::<F>(&inbox, "17", 5, false).await.unwrap().is_replay());
    assert_eq!(F::effects(guard.pool(), "message").await, 1);
}

async fn two_messages_with_one_id_are_told_apart<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let inbox = Inbox::new(guard.clone(), "payments.settled").unwrap();
    receive::<F>(&inbox, "17", 5, false).await.unwrap();
    let other = receive::<F>(&inbox, "17", 6, false).await;
    assert!(matches!(other, Err(Error::Conflict { .. })), "{other:?}");
    let kind = Inbox::new(guard, "payments.refunded").unwrap();
    assert!(receive::<F>(&kind, "17", 6, false).await.is_ok(), "another kind of message");
}

async fn a_message_for_outside_has_the_same_key_at_every_delivery<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let inbox = Inbox::new(guard, "payments.settled").unwrap();
    let (ran, mut keys) = (AtomicU32::new(0), Vec::new());
    for _ in 0..3 {
        let mut key = None;
        let received = inbox
            .receive_external(scope(), "17", &5, async |claim: &Claim<F::S>| {
                key = Some(claim.downstream_key("mail"));
                if ran.fetch_add(1, Ordering::SeqCst) == 0 { Err(Error::Failed) } else { Ok(()) }
            })
            .await;
        assert_eq!(received.is_ok(), ran.load(Ordering::SeqCst) > 1);
        keys.extend(key);
    }
    assert_eq!(ran.load(Ordering::SeqCst), 2);
    assert_eq!(keys[0], keys[1]);
}

on_every_database! {
    a_message_takes_effect_once_however_often_it_is_delivered,
    a_failed_message_leaves_nothing_and_may_come_again,
    two_messages_with_one_id_are_told_apart,
    a_message_for_outside_has_the_same_key_at_every_delivery,
}
