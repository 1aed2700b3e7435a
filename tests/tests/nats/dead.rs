//! Messages that are given up: kept with the reason, never dropped.

use async_nats::jetstream::message::StreamMessage;
use idem_tests::on_every_database;

use crate::*;

impl<F: Fixture> Bridge<F> {
    /// How many dead letters there are, and the last one.
    async fn dead(&self) -> (u64, StreamMessage) {
        let stream = self.jetstream.get_stream("DEAD").await.unwrap();
        let state = stream.cached_info().state.clone();
        (state.messages, stream.get_raw_message(state.last_sequence).await.unwrap())
    }
}

fn header<'a>(letter: &'a StreamMessage, name: &str) -> Option<&'a str> {
    letter.headers.get(name).map(async_nats::HeaderValue::as_str)
}

async fn a_message_that_keeps_failing_becomes_a_dead_letter<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let running = bridge.run(bridge.receiver().await.max_deliveries(3)).await;
    bridge.send_task("a", Then::FailBefore(9)).await;
    bridge.send_task("b", Then::Succeed).await;
    bridge.settled().await;
    running.shutdown().await;
    assert_eq!((bridge.effects("a").await, bridge.stage.times("a")), (0, 3));
    assert_eq!(bridge.effects("b").await, 1);
    let (count, letter) = bridge.dead().await;
    let task: Task = serde_json::from_slice(&letter.payload).unwrap();
    assert_eq!((count, task.name.as_str()), (1, "a"));
    assert_eq!(header(&letter, "Idem-Dead-Reason"), Some("as the test wants"));
    assert_eq!(header(&letter, "Idem-Dead-Subject"), Some("messages.test"));
    assert_eq!(header(&letter, "Idem-Dead-Stream"), Some("MESSAGES"));
    assert_eq!(header(&letter, "Idem-Dead-Sequence"), Some("1"));
    assert_eq!(header(&letter, "Idem-Dead-Message-Id"), Some("a"));
    assert_eq!(header(&letter, "Colour"), Some("blue"));
}

async fn a_dead_letter_that_is_sent_again_has_all_its_tries_again<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    for (ran, effects) in [(3, 0), (5, 1)] {
        bridge.send_task("a", Then::FailBefore(4)).await;
        let running = bridge.run(bridge.receiver().await.max_deliveries(3)).await;
        bridge.settled().await;
        running.shutdown().await;
        assert_eq!((bridge.stage.times("a"), bridge.effects("a").await), (ran, effects));
        // The stream would drop the second message within its duplicate window.
        bridge.forget().await;
    }
}

async fn a_message_that_can_never_work_is_a_dead_letter_at_once<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let running = bridge.run(bridge.receiver().await).await;
    bridge.send_task("a", Then::NeverWork).await;
    bridge.settled().await;
    running.shutdown().await;
    assert_eq!((bridge.effects("a").await, bridge.stage.times("a")), (0, 1));
    let (count, letter) = bridge.dead().await;
    assert_eq!((count, header(&letter, "Idem-Dead-Reason")), (1, Some("no such account")));
}

async fn a_message_without_an_id_never_runs_and_is_a_dead_letter<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let running = bridge.run(bridge.receiver().await).await;
    bridge.send("", &Task { name: "a".to_owned(), then: Then::Succeed }).await;
    bridge.settled().await;
    running.shutdown().await;
    assert_eq!((bridge.effects("a").await, bridge.stage.times("a")), (0, 0));
    let (count, letter) = bridge.dead().await;
    assert!(header(&letter, "Idem-Dead-Reason").unwrap().contains("no Nats-Msg-Id"));
    assert_eq!((count, header(&letter, "Idem-Dead-Message-Id")), (1, None));
}

async fn another_message_under_the_same_id_is_a_dead_letter<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    for name in ["a", "b"] {
        bridge.send("17", &Task { name: name.to_owned(), then: Then::Succeed }).await;
        let running = bridge.run(bridge.receiver().await).await;
        bridge.settled().await;
        running.shutdown().await;
        bridge.forget().await;
    }
    assert_eq!((bridge.effects("a").await, bridge.stage.times("b")), (1, 0));
    let (count, letter) = bridge.dead().await;
    assert!(header(&letter, "Idem-Dead-Reason").unwrap().contains("another request"));
    assert_eq!(count, 1);
}

async fn a_message_is_not_dropped_while_its_dead_letter_has_no_place<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let running = bridge.run(bridge.receiver().await).await;
    bridge.jetstream.delete_stream("DEAD").await.unwrap();
    bridge.send_task("a", Then::NeverWork).await;
    while bridge.deliveries("billing").await < 3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    bridge.stream("DEAD", "dead.>").await;
    bridge.settled().await;
    running.shutdown().await;
    assert_eq!(bridge.dead().await.0, 1);
}

on_every_database! {
    a_message_that_keeps_failing_becomes_a_dead_letter,
    a_dead_letter_that_is_sent_again_has_all_its_tries_again,
    a_message_that_can_never_work_is_a_dead_letter_at_once,
    a_message_without_an_id_never_runs_and_is_a_dead_letter,
    another_message_under_the_same_id_is_a_dead_letter,
    a_message_is_not_dropped_while_its_dead_letter_has_no_place,
}
