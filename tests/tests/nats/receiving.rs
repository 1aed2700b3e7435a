//! Messages that are received: once in effect, acknowledged after the commit, put back when they fail.

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::{self};
use futures_util::StreamExt;
use idem_runtime::nats::{DeadLetters, MissingId, Receiver, ReceiverError};
use idem_tests::on_every_database;

use crate::*;

async fn a_message_takes_effect_once_and_is_acknowledged<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let running = bridge.run(bridge.receiver().await).await;
    for name in ["a", "b", "c"] {
        bridge.send_task(name, Then::Succeed).await;
    }
    bridge.settled().await;
    running.shutdown().await;
    for name in ["a", "b", "c"] {
        assert_eq!((bridge.effects(name).await, bridge.stage.times(name)), (1, 1));
    }
    assert_eq!(bridge.deliveries("billing").await, 3);
}

async fn what_the_stream_has_forgotten_the_inbox_still_knows<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    for _ in 0..2 {
        bridge.send_task("a", Then::Succeed).await;
        let running = bridge.run(bridge.receiver().await).await;
        bridge.settled().await;
        running.shutdown().await;
        bridge.forget().await;
    }
    assert_eq!((bridge.effects("a").await, bridge.stage.times("a")), (1, 1));
}

async fn a_message_that_fails_or_panics_is_put_back_and_leaves_nothing<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let running = bridge.run(bridge.receiver().await).await;
    bridge.send_task("a", Then::FailBefore(2)).await;
    bridge.settled().await;
    assert_eq!((bridge.effects("a").await, bridge.stage.times("a")), (1, 3));
    running.shutdown().await;

    let running = bridge.run(bridge.receiver().await.max_deliveries(2)).await;
    bridge.send_task("b", Then::Panic).await;
    bridge.settled().await;
    assert_eq!((bridge.effects("b").await, bridge.stage.times("b")), (0, 2));
    running.shutdown().await;
}

async fn a_message_that_two_consumers_get_at_once_takes_effect_once<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    bridge.send_task("a", Then::Wait).await;
    let one = bridge.run(bridge.receiver_of("billing").await).await;
    let two = bridge.run(bridge.receiver_of("second").await).await;
    bridge.stage.is_waiting().await;
    // The one that came second was turned away, and asked again.
    while bridge.deliveries("billing").await + bridge.deliveries("second").await < 3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bridge.stage.go_on();
    bridge.settled_of("billing").await;
    bridge.settled_of("second").await;
    assert_eq!((bridge.effects("a").await, bridge.stage.times("a")), (1, 1));
    tokio::join!(one.shutdown(), two.shutdown());
}

async fn a_message_without_an_id_may_be_known_by_its_place_in_the_stream<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let receiver = bridge.receiver().await.missing_id(MissingId::StreamSequence);
    for name in ["a", "b"] {
        bridge.send("", &Task { name: name.to_owned(), then: Then::FailBefore(1) }).await;
    }
    let running = bridge.run(receiver).await;
    // Another consumer gets the same messages, under the same identity.
    let again = bridge.receiver_of("second").await.missing_id(MissingId::StreamSequence);
    let second = bridge.run(again).await;
    bridge.settled().await;
    bridge.settled_of("second").await;
    tokio::join!(running.shutdown(), second.shutdown());
    for name in ["a", "b"] {
        assert_eq!((bridge.effects(name).await, bridge.stage.times(name)), (1, 2));
    }
}

async fn the_broker_waits_for_a_body_that_takes_long<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let running = bridge.run(bridge.receiver().await).await;
    bridge.send_task("a", Then::Wait).await;
    bridge.stage.is_waiting().await;
    // A consumer that does not speak shows how often the broker's patience has ended meanwhile.
    let silent = bridge.consumer("silent").await;
    let mut messages = silent.messages().await.unwrap();
    for _ in 0..4 {
        messages.next().await.unwrap().unwrap();
    }
    bridge.stage.go_on();
    bridge.settled().await;
    assert_eq!((bridge.deliveries("billing").await, bridge.effects("a").await), (1, 1));
    running.shutdown().await;
}

async fn a_shutdown_finishes_what_was_begun_and_takes_no_more<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    bridge.send_task("a", Then::Wait).await;
    let running = bridge.run(bridge.receiver().await.concurrency(1)).await;
    bridge.stage.is_waiting().await;
    bridge.send_task("b", Then::Succeed).await;
    let mut stopping = tokio::spawn(running.shutdown());
    let early = tokio::time::timeout(Duration::from_millis(50), &mut stopping).await;
    assert!(early.is_err(), "it waits for the body");
    bridge.stage.go_on();
    stopping.await.unwrap();
    assert_eq!((bridge.effects("a").await, bridge.stage.times("b")), (1, 0));
    let info = bridge.consumer("billing").await.get_info().await.unwrap();
    assert_eq!((info.num_ack_pending, info.num_pending), (0, 1), "a is acknowledged, and b is nobody's");
}

async fn a_consumer_that_would_lose_messages_is_refused<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let build = async |name: &str, change: fn(&mut pull::Config), dead: &str| {
        let mut config = pull::Config { durable_name: Some(name.to_owned()), ..Default::default() };
        change(&mut config);
        let consumer = bridge.messages().await.get_or_create_consumer(name, config).await.unwrap();
        let inbox = Inbox::new(bridge.guard.clone(), "messages").unwrap();
        let dead = DeadLetters::new(bridge.jetstream.clone(), dead);
        Receiver::builder(inbox, consumer, dead, |_| Ok(scope())).build().await.map(drop)
    };
    let dead = "dead.messages";
    assert!(build("fit", |_| (), dead).await.is_ok());
    let refused = build("all", |config| config.ack_policy = AckPolicy::All, dead).await;
    assert!(matches!(refused, Err(ReceiverError::AckPolicy)), "{refused:?}");
    let refused = build("few", |config| config.max_deliver = 5, dead).await;
    assert!(matches!(refused, Err(ReceiverError::MaxDeliver(5))), "{refused:?}");
    let refused = build("headers", |config| config.headers_only = true, dead).await;
    assert!(matches!(refused, Err(ReceiverError::HeadersOnly)), "{refused:?}");
    for dead in ["nobody.listens", "messages.dead"] {
        let refused = build("fit", |_| (), dead).await;
        assert!(matches!(refused, Err(ReceiverError::DeadLetters { .. })), "{refused:?}");
    }
    let gone = bridge.consumer("gone").await;
    bridge.messages().await.delete_consumer("gone").await.unwrap();
    let inbox = Inbox::new(bridge.guard.clone(), "messages").unwrap();
    let dead = DeadLetters::new(jetstream::new(bridge.jetstream.client()), dead);
    let refused = Receiver::builder(inbox, gone, dead, |_| Ok(scope())).build().await;
    assert!(matches!(refused, Err(ReceiverError::Broker(_))), "{refused:?}");
}

on_every_database! {
    a_message_takes_effect_once_and_is_acknowledged,
    what_the_stream_has_forgotten_the_inbox_still_knows,
    a_message_that_fails_or_panics_is_put_back_and_leaves_nothing,
    a_message_that_two_consumers_get_at_once_takes_effect_once,
    a_message_without_an_id_may_be_known_by_its_place_in_the_stream,
    the_broker_waits_for_a_body_that_takes_long,
    a_shutdown_finishes_what_was_begun_and_takes_no_more,
    a_consumer_that_would_lose_messages_is_refused,
}
