//! `idem outbox retry`, `dead` and `purge`: nothing without a yes, and each only what it may.

use idem_runtime::store::EventStatus::{Dead, Delivered, Pending};
use idem_tests::on_every_database;

use super::{WithOutbox, event};
use crate::at::{At, check};

const WHY: [&str; 2] = ["--reason", "the customer is gone"];

async fn a_dead_event_is_due_again_after_a_yes<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    let id = at.bury("order.created", "stock: none").await;
    let text = at.idem(&["outbox", "retry", &id]).ended(0).out();
    assert!(text.starts_with("would be due now"), "{text}");
    assert_eq!(at.statuses().await, [Dead]);
    check("outbox-retry.json", at.idem(&["outbox", "retry", &id, "--yes", "--json"]).ended(0).json());
    assert_eq!(at.take().await.len(), 1, "a dispatcher takes it");
}

async fn only_dead_events_are_retried<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    let (pending, delivered) = (at.publish(event("order.created")).await, at.deliver("order.paid").await);
    let nobody = uuid::Uuid::new_v4().to_string();
    for id in [&pending, &delivered, &nobody] {
        let ran = at.idem(&["outbox", "retry", id, "--yes"]).ended(1);
        assert!(ran.out().starts_with("not retried"), "{}", ran.out());
        let json = at.idem(&["outbox", "retry", id, "--yes", "--json"]).ended(1).json();
        assert_eq!((&json["done"], json["refusal"].is_string()), (&false.into(), true));
    }
    assert_eq!(at.statuses().await, [Pending, Delivered]);
}

async fn all_dead_events_of_one_type_are_retried_and_no_others<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    for event_type in ["order.created", "order.paid", "order.created"] {
        at.bury(event_type, "stock: none").await;
    }
    let all = ["outbox", "retry", "--type", "order.created", "--all"];
    let text = at.idem(&all).ended(0).out();
    assert!(text.starts_with("2 events are dead: --yes"), "{text}");
    assert_eq!(at.statuses().await, [Dead, Dead, Dead]);
    let json = at.idem(&[&all[..], &["--yes", "--json"]].concat()).ended(0).json();
    assert_eq!((&json["done"], &json["events"]), (&true.into(), &2.into()));
    assert_eq!(at.statuses().await, [Pending, Dead, Pending]);
}

async fn a_retry_names_one_event_or_a_type_and_all<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    let id = at.bury("order.created", "stock: none").await;
    for arguments in [
        &[][..],
        &["--all"],
        &["--type", "order.created"],
        &[&id, "--all"],
        &[&id, "--type", "order.created", "--all"],
    ] {
        at.idem(&[&["outbox", "retry", "--yes"], arguments].concat()).ended(2);
    }
    assert_eq!(at.statuses().await, [Dead]);
}

async fn an_event_is_given_up_after_a_yes_and_says_who_and_why<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    let id = at.publish(event("order.created")).await;
    let give_up = [&["outbox", "dead", &id][..], &WHY].concat();
    let text = at.idem(&give_up).ended(0).out();
    assert!(text.starts_with("would be given up"), "{text}");
    assert_eq!(at.statuses().await, [Pending]);
    check("outbox-dead.json", at.idem(&[&give_up[..], &["--yes", "--json"]].concat()).ended(0).json());
    assert_eq!(at.statuses().await, [Dead]);
    let json = at.idem(&["outbox", "show", &id, "--json"]).ended(0).json();
    assert_eq!(json["event"]["last_error"], "given up by ann: the customer is gone");
    at.idem(&["outbox", "dead", &id, "--yes"]).ended(2);
    at.idem(&["outbox", "dead", &id, "--yes", "--reason", ""]).ended(2);
}

async fn an_event_that_is_held_or_done_is_not_given_up<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    let delivered = at.deliver("order.paid").await;
    let dead = at.bury("order.lost", "stock: none").await;
    let held = at.hold("order.created").await;
    let nobody = uuid::Uuid::new_v4().to_string();
    for (id, words) in [(held, "holds it"), (delivered, "have it"), (dead, "already"), (nobody, "no such")] {
        let ran = at.idem(&[&["outbox", "dead", &id, "--yes"], &WHY[..]].concat()).ended(1);
        assert!(ran.out().starts_with("not given up") && ran.out().contains(words), "{}", ran.out());
    }
    assert_eq!(at.statuses().await, [Delivered, Dead, Pending]);
}

async fn only_events_that_were_delivered_long_ago_are_purged<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    for event_type in ["order.a", "order.b", "order.c"] {
        at.deliver(event_type).await;
    }
    at.bury("order.dead", "stock: none").await;
    at.publish(event("order.pending")).await;
    at.grow_old().await;
    at.deliver("order.new").await;
    let old = ["outbox", "purge", "--older-than", "1h", "--batch", "2"];
    let text = at.idem(&old).ended(0).out();
    assert!(text.starts_with("3 events were delivered 1h ago or earlier: --yes"), "{text}");
    assert_eq!(at.statuses().await.len(), 6);
    check("outbox-purge.json", at.idem(&[&old[..], &["--yes", "--json"]].concat()).ended(0).json());
    assert_eq!(at.statuses().await, [Dead, Pending, Delivered]);
    at.idem(&["outbox", "purge", "--yes"]).ended(2);
}

on_every_database! {
    a_dead_event_is_due_again_after_a_yes,
    only_dead_events_are_retried,
    all_dead_events_of_one_type_are_retried_and_no_others,
    a_retry_names_one_event_or_a_type_and_all,
    an_event_is_given_up_after_a_yes_and_says_who_and_why,
    an_event_that_is_held_or_done_is_not_given_up,
    only_events_that_were_delivered_long_ago_are_purged,
}
