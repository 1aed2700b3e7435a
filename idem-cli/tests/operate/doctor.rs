//! `idem doctor`.

use std::time::Duration;

use idem_tests::{Fixture, on_every_database};
use serde_json::{Value, json};

use crate::at::{At, LIFE, check};

/// What was found but for the pool, as the server of the tests is everybody's.
fn findings(json: &Value) -> Vec<&str> {
    let all = json["findings"].as_array().unwrap().iter().filter(|finding| finding["check"] != "pool");
    all.map(|finding| finding["check"].as_str().unwrap()).collect()
}

async fn a_sound_database_has_no_findings<F: Fixture>() {
    let at = At::<F>::fresh().await;
    let json = at.idem(&["doctor", "--json"]).json();
    assert_eq!(findings(&json), [""; 0], "{json}");
}

async fn a_missing_index_and_old_records_are_found<F: Fixture>() {
    let at = At::<F>::fresh().await;
    at.succeed("k", b"{}").await;
    at.pass(LIFE + Duration::from_hours(2)).await;
    at.drop_index().await;
    let mut json = at.idem(&["doctor", "--retention", "1h", "--json"]).ended(1).json();
    assert_eq!(findings(&json), ["schema", "retention"]);
    json["findings"].as_array_mut().unwrap().retain(|finding| finding["check"] != "pool");
    check("doctor.json", json);
    let text = at.idem(&["doctor"]).ended(1).out();
    assert!(text.contains("found schema: idempotency_records_sweep_after is missing"), "{text}");
}

async fn missing_tables_are_found<F: Fixture>() {
    let at = At::<F>::fresh().await;
    at.execute("DROP TABLE idempotency_releases").await;
    let json = at.idem(&["doctor", "--json"]).ended(1).json();
    assert_eq!(findings(&json), ["schema"]);
    at.execute("DROP TABLE idempotency_records").await;
    at.execute("DROP TABLE _idem_migrations").await;
    let json = at.idem(&["doctor", "--json"]).ended(1).json();
    assert_eq!(findings(&json), ["schema"]);
    assert_eq!(json["version"], json!(1));
}

on_every_database! {
    a_sound_database_has_no_findings,
    a_missing_index_and_old_records_are_found,
    missing_tables_are_found,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsafe_setting_of_the_role_is_found_on_postgres() {
    let fixture = idem_tests::OnPostgres::create().await;
    let url = fixture.0.role_with(&[("synchronous_commit", "off")]).await;
    let json = crate::at::idem(&url, &["doctor", "--json"]).ended(1).json();
    assert_eq!(findings(&json), ["settings"], "{json}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_without_transactions_and_without_its_key_is_found_on_mysql() {
    let at = At::<idem_tests::OnMysql>::fresh().await;
    at.execute("ALTER TABLE idempotency_records DROP PRIMARY KEY, ENGINE = Aria").await;
    let json = at.idem(&["doctor", "--json"]).ended(1).json();
    assert_eq!(findings(&json), ["schema", "settings"], "{json}");
    let text = json.to_string();
    assert!(text.contains("the primary key of idempotency_records") && text.contains("InnoDB"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_the_server_is_told_to_ignore_is_missing_on_mysql() {
    let at = At::<idem_tests::OnMysql>::fresh().await;
    at.execute("ALTER TABLE idempotency_records ALTER INDEX idempotency_records_sweep_after IGNORED").await;
    let json = at.idem(&["doctor", "--json"]).ended(1).json();
    assert_eq!(findings(&json), ["schema"], "{json}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_settings_of_another_node_are_looked_at_on_postgres() {
    let at = At::<idem_tests::OnPostgres>::fresh().await;
    let node = at.fixture.0.role_with(&[("synchronous_commit", "local")]).await;
    let json = at.idem(&["doctor", "--node", &node, "--json"]).ended(1).json();
    assert_eq!(findings(&json), ["settings"], "{json}");
}
