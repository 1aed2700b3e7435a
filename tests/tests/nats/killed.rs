//! Processes that are killed while they have a message: it comes again, and takes effect once.

use idem_test_support::proxy::{Fault, Proxy};
use idem_tests::on_every_database;

use crate::*;

async fn killed_in_its_body_a_message_runs_again_and_takes_effect_once<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    bridge.send("17", &"a").await;
    let mut victim = bridge.process(&["receive", "--stop"]).await;
    victim.wait_for("written a").await;
    victim.kill().await;
    assert_eq!(bridge.effects("a").await, 0);
    let mut second = bridge.process(&["receive"]).await;
    second.wait_for("written a").await;
    bridge.settled().await;
    second.kill().await;
    assert_eq!(bridge.effects("a").await, 1);
}

async fn killed_between_the_commit_and_the_acknowledgement_a_message_is_not_run_again<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let broker = bridge.server.url().trim_start_matches("nats://").parse().unwrap();
    let (proxy, folder) = (Proxy::start_blind(broker), tempfile::tempdir().unwrap());
    let go = folder.path().join("go");
    bridge.send("17", &"a").await;
    let arguments = ["receive", "--until", go.to_str().unwrap()];
    let mut victim = bridge.process_at(&format!("nats://{}", proxy.addr()), &arguments).await;
    victim.wait_for("written a").await;
    // From here on it cannot reach the broker, and it commits.
    proxy.arm(Fault::Refuse);
    proxy.fired().await;
    std::fs::write(&go, "").unwrap();
    while bridge.effects("a").await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    victim.kill().await;
    let info = bridge.consumer("billing").await.get_info().await.unwrap();
    assert_eq!(info.num_ack_pending, 1, "the broker heard nothing");

    let mut second = bridge.process(&["receive"]).await;
    bridge.settled().await;
    second.kill().await;
    assert_eq!(bridge.effects("a").await, 1);
    assert!(bridge.deliveries("billing").await > 1, "it was delivered again");
}

const KILLS: usize = 12;
const CONSUMERS: usize = 3;
const MESSAGES: usize = 120;

async fn consumers_that_are_killed_again_and_again_lose_and_double_nothing<F: Fixture>() {
    let bridge = Bridge::<F>::create().await;
    let mut running = Vec::new();
    for _ in 0..CONSUMERS {
        running.push(bridge.process(&["receive"]).await);
    }
    let mut sent = 0;
    for kill in 0..KILLS {
        for _ in 0..MESSAGES / KILLS {
            bridge.send(&format!("id-{sent}"), &format!("row-{sent}")).await;
            sent += 1;
        }
        let mut victim = running.swap_remove(kill % CONSUMERS);
        victim.kill().await;
        running.push(bridge.process(&["receive"]).await);
    }
    bridge.settled().await;
    for mut process in running {
        process.kill().await;
    }
    for number in 0..sent {
        assert_eq!(bridge.effects(&format!("row-{number}")).await, 1, "{number}");
    }
}

on_every_database! {
    killed_in_its_body_a_message_runs_again_and_takes_effect_once,
    killed_between_the_commit_and_the_acknowledgement_a_message_is_not_run_again,
    consumers_that_are_killed_again_and_again_lose_and_double_nothing,
}
