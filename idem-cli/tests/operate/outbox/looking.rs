//! `idem outbox list`, `show` and `stats`, and the events that `idem doctor` finds.

use idem_runtime::store::NewEvent;
use idem_tests::on_every_database;
use serde_json::Value;

use super::{WithOutbox, event};
use crate::at::{At, check, idem};

const COMMANDS: [&str; 6] = ["list", "show", "stats", "retry", "dead", "purge"];

fn ids(json: &Value) -> Vec<&str> {
    json["events"].as_array().unwrap().iter().map(|event| event["event_id"].as_str().unwrap()).collect()
}

/// Ids and numbers differ in each run.
fn still(mut event: Value) -> Value {
    for name in ["event_id", "sequence"] {
        assert!(!event[name].is_null());
        event[name] = name.into();
    }
    event
}

async fn a_page_ends_where_the_next_one_begins<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    let mut published = Vec::new();
    for number in 0..5 {
        published.push(at.publish(event(&format!("order.{number}"))).await);
    }
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut arguments = vec!["outbox", "list", "--limit", "2", "--json"];
        if let Some(cursor) = &cursor {
            arguments.extend(["--after", cursor]);
        }
        let page = at.idem(&arguments).ended(0).json();
        assert!(ids(&page).len() <= 2, "{page}");
        all.extend(ids(&page).into_iter().map(str::to_owned));
        match page["next_cursor"].as_i64() {
            Some(next) => cursor = Some(next.to_string()),
            None => break,
        }
    }
    assert_eq!(all, published);
    let text = at.idem(&["outbox", "list", "--limit", "2"]).ended(0).out();
    assert!(text.contains("more: --after "), "{text}");
    at.idem(&["outbox", "list", "--after", "nonsense"]).ended(2);
}

async fn each_filter_leaves_the_other_events_out<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    let delivered = at.deliver("order.paid").await;
    let dead = at.bury("order.created", "stock: \u{1b}[2Jno such sku").await;
    let other = at.publish(NewEvent { tenant: "Acme".to_owned(), ..event("order.created") }).await;
    let held = at.hold("order.lost").await;
    for (filter, wanted) in [
        (&["--status", "delivered"][..], &[&delivered][..]),
        (&["--status", "dead"], &[&dead]),
        (&["--status", "pending"], &[&other, &held]),
        (&["--type", "order.created"], &[&dead, &other]),
        (&["--tenant-id", "Acme"], &[&other]),
        (&["--type", "order"], &[]),
    ] {
        let json = at.idem(&[&["outbox", "list", "--json"], filter].concat()).ended(0).json();
        assert_eq!(ids(&json), wanted.iter().map(|id| id.as_str()).collect::<Vec<_>>(), "{filter:?}");
        assert!(!json.to_string().contains("4711"), "no payload in a list");
    }
    let mut json = at.idem(&["outbox", "list", "--json"]).ended(0).json();
    for event in json["events"].as_array_mut().unwrap() {
        *event = still(event.clone());
    }
    check("outbox-list.json", json);
    let text = at.idem(&["outbox", "list"]).ended(0).out();
    assert!(text.starts_with("NUMBER") && text.contains("held") && !text.contains('\u{1b}'), "{text}");
    assert!(text.contains("stock: \u{fffd}[2Jno such sku") && !text.contains("4711"), "{text}");
    assert_eq!(at.idem(&["outbox", "list", "--type", "x"]).ended(0).out(), "no events\n");
}

async fn a_payload_is_shown_to_people_only_when_they_ask<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    let payload = "{\"card\":\"4711\u{9b}2J\"}".to_owned();
    let id = at.publish(NewEvent { payload, ..event("order.created") }).await;
    let text = at.idem(&["outbox", "show", &id]).ended(0).out();
    assert!(text.contains(&id) && text.contains("order-17") && !text.contains("4711"), "{text}");
    let text = at.idem(&["outbox", "show", &id, "--show-payload"]).ended(0).out();
    assert!(text.contains("4711\u{fffd}2J") && text.contains("traceparent"), "{text}");
    let mut json = at.idem(&["outbox", "show", &id, "--json"]).ended(0).json();
    json["event"] = still(json["event"].take());
    check("outbox-show.json", json);
    let nobody = uuid::Uuid::new_v4().to_string();
    assert!(at.idem(&["outbox", "show", &nobody]).ended(1).out().starts_with("no event"));
    assert!(at.idem(&["outbox", "show", &nobody, "--json"]).ended(1).json()["event"].is_null());
    at.idem(&["outbox", "show", "nonsense"]).ended(2);
}

async fn stats_count_events_and_tell_of_the_dead<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    assert_eq!(at.idem(&["outbox", "stats"]).ended(0).out(), "0 pending, 0 delivered\n");
    at.deliver("order.paid").await;
    at.publish(event("order.created")).await;
    at.publish(NewEvent { version: 2, ..event("order.created") }).await;
    at.idem(&["outbox", "stats"]).ended(0);
    at.bury("order.created", "stock: none").await;
    let json = at.idem(&["outbox", "stats", "--json"]).ended(1).json();
    assert_eq!(at.idem(&["outbox", "list", "--summary", "--json"]).ended(0).json()["totals"], json["totals"]);
    check("outbox-stats.json", json);
    let text = at.idem(&["outbox", "list", "--summary"]).ended(0).out();
    assert!(text.contains("2 pending, 1 delivered\n1 dead"), "{text}");
}

async fn doctor_finds_dead_events_and_those_that_wait_for_long<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    let found = |at: &At<F>| {
        let json = at.idem(&["doctor", "--json"]).json();
        let all = json["findings"].as_array().unwrap().iter();
        let outbox = all.filter(|finding| finding["check"] == "outbox");
        outbox.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    at.deliver("order.paid").await;
    at.grow_old().await;
    at.publish(event("order.created")).await;
    assert_eq!(found(&at), [""; 0], "one that was delivered long ago, and one that is new");
    at.grow_old().await;
    let messages = found(&at);
    assert!(messages.len() == 1 && messages[0].contains("pending since 1h 30m"), "{messages:?}");
    at.bury("order.created", "stock: none").await;
    let messages = found(&at);
    assert!(messages.len() == 2 && messages[0].starts_with("1 events are dead"), "{messages:?}");
}

async fn without_its_table_the_outbox_has_no_answer<F: WithOutbox>() {
    let at = At::<F>::fresh().await;
    at.execute("DROP TABLE idempotency_outbox_events").await;
    let ran = at.idem(&["outbox", "list"]).ended(2);
    assert!(ran.err().contains("run `idem migrate`") && ran.out().is_empty(), "{}", ran.err());
    let text = at.idem(&["doctor"]).ended(1).out();
    assert!(text.contains("found schema: idempotency_outbox_events is missing"), "{text}");
}

#[test]
fn the_help_and_the_manual_of_each_outbox_command_has_examples() {
    let bash = idem("sqlite:none", &["completions", "bash"]).ended(0).out();
    let page = idem("sqlite:none", &["man", "outbox"]).ended(0).out();
    for command in COMMANDS {
        let help = idem("sqlite:none", &["outbox", command, "--help"]).ended(0).out();
        for words in ["Examples:", "Exit codes:", &format!("idem outbox {command}")] {
            assert!(help.contains(words), "{help}");
        }
        assert!(page.contains(&format!("outbox\\-{command}")), "{page}");
        let own = idem("sqlite:none", &["man", &format!("outbox-{command}")]).ended(0).out();
        assert!(own.starts_with(".ie") && own.contains(&format!("idem outbox {command}")), "{own}");
        assert!(bash.contains(&format!("idem__subcmd__outbox__subcmd__{command}")), "{command}");
    }
}

on_every_database! {
    a_page_ends_where_the_next_one_begins,
    each_filter_leaves_the_other_events_out,
    a_payload_is_shown_to_people_only_when_they_ask,
    stats_count_events_and_tell_of_the_dead,
    doctor_finds_dead_events_and_those_that_wait_for_long,
    without_its_table_the_outbox_has_no_answer,
}
