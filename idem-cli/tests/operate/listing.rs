//! `idem list` and `idem stats`.

use std::time::Duration;

use idem_runtime::store::{ConnectionOf, Maintain, Traffic};
use idem_runtime::{Mode, OnLapse, RecordKey};
use idem_tests::{Fixture, on_every_database};
use serde_json::Value;

use crate::at::{At, check, inside, terms};

fn keys(json: &Value) -> Vec<String> {
    let records = json["records"].as_array().unwrap();
    records.iter().map(|record| record["idempotency_key"].as_str().unwrap().to_owned()).collect()
}

async fn pages_follow_each_other_without_gap_or_overlap<F: Fixture>() {
    let at = At::<F>::fresh().await;
    for name in ["c", "B", "a", "b", "A"] {
        at.succeed(name, b"{}").await;
    }
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut arguments = vec!["list", "--limit", "2", "--json"];
        if let Some(cursor) = &cursor {
            arguments.extend(["--after", cursor]);
        }
        let page = at.idem(&arguments).ended(0).json();
        all.extend(keys(&page));
        assert!(all.len() <= 5, "{all:?}");
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(all, ["A", "B", "a", "b", "c"], "byte by byte");
    at.idem(&["list", "--after", "nonsense"]).ended(2);
}

async fn each_filter_leaves_the_others_out<F: Fixture>() {
    let at = At::<F>::fresh().await;
    at.succeed("old", b"{}").await;
    at.pass(Duration::from_hours(2)).await;
    at.claim("at-work", inside()).await;
    at.lapse("stuck", inside()).await;
    for (filter, wanted) in [
        (&["--stuck"][..], &["stuck"][..]),
        (&["--status", "succeeded"], &["old"]),
        (&["--status", "processing"], &["at-work", "stuck"]),
        (&["--older-than", "1h"], &["old"]),
        (&["--tenant-id", "acme", "--user-id", "user-7"], &["at-work", "old", "stuck"]),
        (&["--tenant-id", "ACME"], &[]),
        (&["--user-id", "nobody"], &[]),
        (&["--route", "orders.delete"], &[]),
    ] {
        let json = at.idem(&[&["list", "--json"], filter].concat()).ended(0).json();
        assert_eq!(keys(&json), wanted, "{filter:?}");
    }
    check("list.json", at.idem(&["list", "--stuck", "--json"]).ended(0).json());
    let text = at.idem(&["list", "--stuck"]).ended(0).out();
    assert!(text.starts_with("TENANT") && text.contains("stuck") && !text.contains('\u{1b}'), "{text}");
    assert_eq!(at.idem(&["list", "--tenant-id", "x"]).ended(0).out(), "no records\n");
}

async fn answered<S: Maintain>(pool: &sqlx::Pool<S>, route: &str, executed: u64, replayed: u64) {
    let connection: &mut ConnectionOf<S> = &mut pool.acquire().await.unwrap();
    S::add_traffic(connection, &Traffic { route: route.to_owned(), executed, replayed }).await.unwrap();
}

async fn stats_count_by_route_and_status_and_tell_of_the_stuck<F: Fixture<S: Maintain>>() {
    let at = At::<F>::fresh().await;
    let nothing = at.idem(&["stats"]).ended(0).out();
    assert!(nothing.starts_with("0 records\nno answers were counted in the last 7 days"), "{nothing}");
    let uncounted = at.idem(&["stats", "--json", "--days", "1"]).ended(0).json();
    assert_eq!(uncounted["traffic"], serde_json::json!({ "days": 1, "routes": [], "replay_ratio": null }));
    at.succeed("a", b"{}").await;
    at.succeed("b", b"{}").await;
    at.idem(&["stats"]).ended(0);
    at.claim("at-work", inside()).await;
    at.lapse("stuck", terms(Mode::External, OnLapse::Refuse, false)).await;
    answered(&at.pool, "orders.create", 3, 1).await;
    answered(&at.pool, "orders.delete", 2, 0).await;
    check("stats.json", at.idem(&["stats", "--json"]).ended(1).json());
    let text = at.idem(&["stats"]).ended(1).out();
    assert!(text.contains("4 records\n1 stuck"), "{text}");
    assert!(text.contains("answers in the last 7 days\n"), "{text}");
    assert!(text.contains("orders.create  3    1         25.00 %\n"), "{text}");
    assert!(text.ends_with("16.67 % of all answers were replays\n"), "{text}");
    at.idem(&["stats", "--days", "0"]).ended(2);
    at.idem(&["stats", "--days", "31"]).ended(2);
}

/// The parts that only a comparison by bytes, and a bound value, tell apart.
const PARTS: [&str; 6] = ["o'brien", "\"q\"", "Straße", "strasse", "a\\b%_", "é"];

async fn what_is_odd_in_a_name_is_found_by_its_bytes<F: Fixture>() {
    let at = At::<F>::fresh().await;
    let key = |part: &str| RecordKey::stored(part, part, "orders.create", part).unwrap();
    for part in PARTS {
        at.claim_key(key(part), inside()).await;
    }
    let mut sorted = PARTS;
    sorted.sort_unstable();
    assert_eq!(keys(&at.idem(&["list", "--json"]).ended(0).json()), sorted, "byte by byte");
    let mut cursor = at.idem(&["list", "--limit", "1", "--json"]).json()["next_cursor"].clone();
    for part in &sorted[1..] {
        let page = at.idem(&["list", "--limit", "1", "--json", "--after", cursor.as_str().unwrap()]).json();
        assert_eq!(keys(&page), [*part]);
        cursor = page["next_cursor"].clone();
    }
    assert!(cursor.is_null());
    for part in PARTS {
        let json = at.idem(&["list", "--json", "--tenant-id", part, "--user-id", part]).ended(0).json();
        assert_eq!(keys(&json), [part]);
        let address = ["--tenant-id", part, "--user-id", part, "--route", "orders.create"];
        let address = [&address[..], &["--idempotency-key", part]].concat();
        let json = at.idem(&[&["show", "--json"], &address[..]].concat()).ended(0).json();
        assert_eq!(json["record"]["idempotency_key"], part);
        let reason = format!("because of {part}");
        let release = ["release", "--yes", "--force", "--by", part, "--reason", &reason];
        at.idem(&[&release[..], &address[..]].concat()).ended(0);
    }
    assert_eq!(at.number("SELECT count(*) FROM idempotency_releases").await, 6);
}

on_every_database! {
    what_is_odd_in_a_name_is_found_by_its_bytes,
    pages_follow_each_other_without_gap_or_overlap,
    each_filter_leaves_the_others_out,
    stats_count_by_route_and_status_and_tell_of_the_stuck,
}
