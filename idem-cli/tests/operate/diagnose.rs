//! `idem diagnose` and `idem show`.

use std::time::Duration;

use idem_runtime::store::Store;
use idem_runtime::{Answer, Mode, OnLapse};
use idem_tests::{Fixture, on_every_database};
use serde_json::{Map, Value};

use crate::at::{At, LIFE, check, hash, inside, record, terms};

/// One record for each verdict, with the key of that name.
async fn every_state<F: Fixture>() -> At<F> {
    let at = At::<F>::fresh().await;
    at.succeed("expired_reusable", b"{}").await;
    at.pass(LIFE + Duration::from_secs(1)).await;
    at.succeed("replayable", br#"{"id":1}"#).await;
    at.succeed("request_hash_conflict", b"{}").await;
    at.claim("in_progress", inside()).await;
    at.lapse("lease_lapsed", inside()).await;
    at.lapse("outcome_unknown", terms(Mode::External, OnLapse::Refuse, false)).await;
    at.fail("failed_retry_required", false, Some(Answer::json(402, b"{}".to_vec()))).await;
    at.fail("failed_retryable", true, None).await;
    let token = at.claim("released", inside()).await;
    let mut conn = at.pool.acquire().await.unwrap();
    assert!(F::S::release(&mut conn, &record("released"), token, None).await.unwrap());
    at
}

const VERDICTS: [(&str, i32); 10] = [
    ("missing", 0),
    ("replayable", 0),
    ("request_hash_conflict", 1),
    ("in_progress", 1),
    ("lease_lapsed", 0),
    ("outcome_unknown", 1),
    ("failed_retry_required", 0),
    ("failed_retryable", 0),
    ("released", 0),
    ("expired_reusable", 0),
];

async fn each_verdict_is_told_with_its_answer_and_its_exit_code<F: Fixture>() {
    let at = every_state::<F>().await;
    let mut told = Map::new();
    for (name, code) in VERDICTS {
        let hash = if name == "request_hash_conflict" { hash('b') } else { hash('a') };
        let json = at.idem_on("diagnose", name, &["--request-hash", &hash, "--json"]).ended(code).json();
        assert_eq!(json["verdict"], name);
        told.insert(name.to_owned(), json);
        let text = at.idem_on("diagnose", name, &["--request-hash", &hash]).ended(code).out();
        assert!(text.starts_with(&format!("{name}: ")), "{text}");
    }
    check("diagnose.json", Value::Object(told));
}

async fn a_stored_answer_is_shown_to_people_only_when_they_ask<F: Fixture>() {
    let at = At::<F>::fresh().await;
    at.succeed("k", b"a \x1b[2J secret").await;
    for command in ["diagnose", "show"] {
        let quiet = at.idem_on(command, "k", &[]).ended(0).out();
        assert!(!quiet.contains("secret") && quiet.contains("task-1"), "{quiet}");
        let shown = at.idem_on(command, "k", &["--show-body"]).ended(0).out();
        assert!(shown.contains("a \u{fffd}[2J secret"), "{shown}");
    }
    at.succeed("bytes", &[0xff, 0x00]).await;
    let json = at.idem_on("diagnose", "bytes", &["--json"]).ended(0).json();
    assert_eq!(json["answer"]["response_body"], "/wA=");
    assert_eq!(json["answer"]["response_body_encoding"], "base64");
    check("show.json", at.idem_on("show", "k", &["--json"]).ended(0).json());
    at.idem_on("show", "nothing", &[]).ended(1);
}

async fn a_hash_of_another_secret_is_bad_use_and_no_verdict<F: Fixture>() {
    let at = At::<F>::fresh().await;
    at.succeed("k", b"{}").await;
    for hash in [hash('a').replace("v1:-", "v1:k1"), "nonsense".to_owned()] {
        let ran = at.idem_on("diagnose", "k", &["--request-hash", &hash]).ended(2);
        assert!(ran.err().contains("cannot be compared") && ran.out().is_empty(), "{}", ran.err());
    }
    // What is over is compared with nothing.
    at.pass(LIFE + Duration::from_secs(1)).await;
    at.idem_on("diagnose", "k", &["--request-hash", "nonsense"]).ended(0);
}

on_every_database! {
    each_verdict_is_told_with_its_answer_and_its_exit_code,
    a_stored_answer_is_shown_to_people_only_when_they_ask,
    a_hash_of_another_secret_is_bad_use_and_no_verdict,
}
