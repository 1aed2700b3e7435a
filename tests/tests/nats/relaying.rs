//! Events that become messages: each one, in the order of its aggregate, whoever is killed in between.

use idem_runtime::outbox::Event;
use idem_runtime::store::{EventFilter, EventStatus, StoredEvent};
use idem_runtime::{Error, Mutation, Success};
use idem_tests::{key, on_every_database, policy};

use crate::*;

impl<F: WithOutbox> Bridge<F> {
    async fn publish(&self, name: &str, event: Event) {
        let request = self.guard.request(scope(), key(name)).of(name).unwrap();
        let publishing = self.guard.run(&policy(), request, async |mutation: &mut Mutation<F::S>| {
            mutation.publish(event).await.unwrap();
            Ok::<_, Error>(Success::new(()))
        });
        publishing.await.unwrap();
    }

    async fn publish_moved(&self, name: &str) {
        self.publish(name, Event::new("bridge.moved", 1, name)).await;
    }

    async fn events(&self) -> Vec<StoredEvent> {
        let mut connection = self.guard.pool().acquire().await.unwrap();
        F::S::events(&mut connection, &EventFilter::default(), 10_000).await.unwrap()
    }

    /// Waits until each event is marked.
    async fn relayed(&self) {
        while self.events().await.iter().any(|event| event.status != EventStatus::Delivered) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The payloads of the stream, in its order.
    async fn stored(&self) -> Vec<String> {
        let stream = self.messages().await;
        let mut payloads = Vec::new();
        for sequence in 1..=stream.cached_info().state.last_sequence {
            let message = stream.get_raw_message(sequence).await.unwrap();
            payloads.push(serde_json::from_slice(&message.payload).unwrap());
        }
        payloads
    }
}

async fn an_event_becomes_one_message_that_says_whose_it_is<F: WithOutbox>() {
    let bridge = Bridge::<F>::create().await;
    let event = Event::new("bridge.moved", 1, "a").aggregate("order-17").header("traceparent", "00-1");
    bridge.publish("a", event).await;
    let mut relay = bridge.process(&["relay"]).await;
    relay.wait_for("published a duplicate=false").await;
    bridge.relayed().await;
    let message = bridge.messages().await.get_raw_message(1).await.unwrap();
    let id = bridge.events().await[0].event.id;
    assert_eq!(message.subject.as_str(), "messages.bridge.moved");
    assert_eq!(&message.payload[..], b"\"a\"");
    for (name, value) in [
        ("Nats-Msg-Id", format!("{id}:messages.bridge.moved").as_str()),
        ("Idem-Event-Type", "bridge.moved"),
        ("Idem-Event-Version", "1"),
        ("Idem-Tenant", "acme"),
        ("Idem-Actor", "user-7"),
        ("Idem-Aggregate", "order-17"),
        ("traceparent", "00-1"),
    ] {
        assert_eq!(message.headers.get(name).map(async_nats::HeaderValue::as_str), Some(value), "{name}");
    }
    relay.kill().await;
}

async fn a_relay_killed_before_the_mark_publishes_again_and_the_stream_keeps_one<F: WithOutbox>() {
    let bridge = Bridge::<F>::create().await;
    bridge.publish_moved("a").await;
    let mut victim = bridge.process(&["relay", "--stop"]).await;
    victim.wait_for("published a duplicate=false").await;
    victim.kill().await;
    assert_eq!(bridge.events().await[0].status, EventStatus::Pending);
    let mut second = bridge.process(&["relay"]).await;
    second.wait_for("published a duplicate=true").await;
    bridge.relayed().await;
    second.kill().await;
    assert_eq!(bridge.stored().await, ["a"]);
}

async fn published_again_beyond_the_duplicate_window_an_event_takes_effect_once<F: WithOutbox>() {
    let bridge = Bridge::<F>::create().await;
    bridge.publish_moved("a").await;
    let mut victim = bridge.process(&["relay", "--stop"]).await;
    victim.wait_for("published a").await;
    victim.kill().await;
    let mut first = bridge.process(&["receive"]).await;
    first.wait_for("written a").await;
    bridge.settled().await;
    first.kill().await;
    // As after the window: the stream knows nothing of the first.
    bridge.forget().await;
    let mut relay = bridge.process(&["relay"]).await;
    relay.wait_for("published a duplicate=false").await;
    bridge.relayed().await;
    let mut second = bridge.process(&["receive"]).await;
    bridge.settled().await;
    assert_eq!(bridge.effects("a").await, 1);
    relay.kill().await;
    second.kill().await;
}

const AGGREGATES: usize = 4;
const ROUNDS: usize = 12;

async fn relays_that_are_killed_keep_the_order_of_each_aggregate<F: WithOutbox>() {
    let bridge = Bridge::<F>::create().await;
    let mut relays = [bridge.process(&["relay"]).await, bridge.process(&["relay"]).await];
    for round in 0..ROUNDS {
        for aggregate in 0..AGGREGATES {
            let name = format!("{aggregate}-{round}");
            let event = Event::new("bridge.moved", 1, &name).aggregate(format!("a{aggregate}"));
            bridge.publish(&name, event).await;
        }
        if round % 2 == 0 {
            let killed = &mut relays[round / 2 % 2];
            killed.kill().await;
            *killed = bridge.process(&["relay"]).await;
        }
    }
    bridge.relayed().await;
    for mut relay in relays {
        relay.kill().await;
    }
    let stored = bridge.stored().await;
    assert_eq!(stored.len(), AGGREGATES * ROUNDS);
    for aggregate in 0..AGGREGATES {
        let of_one: Vec<&String> =
            stored.iter().filter(|name| name.starts_with(&format!("{aggregate}-"))).collect();
        let expected: Vec<String> = (0..ROUNDS).map(|round| format!("{aggregate}-{round}")).collect();
        assert_eq!(of_one, expected.iter().collect::<Vec<_>>());
    }
}

async fn a_broker_that_restarts_in_the_middle_loses_and_doubles_nothing<F: WithOutbox>() {
    let mut bridge = Bridge::<F>::create().await;
    let mut relay = bridge.process(&["relay"]).await;
    let mut receiver = bridge.process(&["receive"]).await;
    for round in 0..4 {
        for number in 0..10 {
            bridge.publish_moved(&format!("{round}-{number}")).await;
        }
        if round < 2 {
            receiver.wait_for("written").await;
            bridge.server.stop().await;
            for number in 10..15 {
                bridge.publish_moved(&format!("{round}-{number}")).await;
            }
            bridge.server.start_again().await;
        }
    }
    bridge.relayed().await;
    bridge.settled().await;
    relay.kill().await;
    receiver.kill().await;
    let stored = bridge.stored().await;
    assert_eq!(stored.len(), 50, "{stored:?}");
    for name in stored {
        assert_eq!(bridge.effects(&name).await, 1, "{name}");
    }
}

on_every_database! {
    an_event_becomes_one_message_that_says_whose_it_is,
    a_relay_killed_before_the_mark_publishes_again_and_the_stream_keeps_one,
    published_again_beyond_the_duplicate_window_an_event_takes_effect_once,
    relays_that_are_killed_keep_the_order_of_each_aggregate,
    a_broker_that_restarts_in_the_middle_loses_and_doubles_nothing,
}
