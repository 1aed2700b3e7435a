//! `idem expire` and `idem purge`.

use std::time::Duration;

use idem_tests::{Fixture, on_every_database};

use crate::at::{At, LIFE, check, inside};

const ALL: &str = "SELECT count(*) FROM idempotency_records";
const EXPIRED: &str = "SELECT count(*) FROM idempotency_records WHERE status = 'expired'";

/// Three records past their life, and one at work.
async fn some_over<F: Fixture>() -> At<F> {
    let at = At::<F>::fresh().await;
    for name in ["a", "b", "c"] {
        at.succeed(name, b"{}").await;
    }
    at.pass(LIFE + Duration::from_hours(2)).await;
    at.claim("at-work", inside()).await;
    at
}

async fn nothing_is_changed_without_yes<F: Fixture>() {
    let at = some_over::<F>().await;
    check("expire.json", at.idem(&["expire", "--json"]).ended(0).json());
    let text = at.idem(&["purge", "--older-than", "1h"]).ended(0).out();
    assert!(text.starts_with("3 records ended 1h ago"), "{text}");
    assert_eq!((at.number(EXPIRED).await, at.number(ALL).await), (0, 4));
}

async fn expire_marks_what_is_over_in_batches<F: Fixture>() {
    let at = some_over::<F>().await;
    let json = at.idem(&["expire", "--yes", "--batch", "2", "--json"]).ended(0).json();
    assert_eq!((&json["done"], &json["records"]), (&true.into(), &3.into()));
    assert_eq!(at.number(EXPIRED).await, 3);
    assert_eq!(at.idem(&["expire", "--yes", "--json"]).ended(0).json()["records"], 0);
}

async fn purge_deletes_only_what_ended_long_enough_ago<F: Fixture>() {
    let at = some_over::<F>().await;
    assert_eq!(at.idem(&["purge", "--yes", "--older-than", "3h", "--json"]).ended(0).json()["records"], 0);
    let json = at.idem(&["purge", "--yes", "--older-than", "1h", "--batch", "1", "--json"]).ended(0).json();
    check("purge.json", json);
    assert_eq!(at.number(ALL).await, 1);
    at.idem(&["purge", "--yes"]).ended(2);
    at.idem(&["purge", "--yes", "--older-than", "soon"]).ended(2);
}

on_every_database! {
    nothing_is_changed_without_yes,
    expire_marks_what_is_over_in_batches,
    purge_deletes_only_what_ended_long_enough_ago,
}
