//! `idem migrate`.

use idem_tests::{Fixture, on_every_database};

use crate::at::{At, check};

/// A database without any of our tables.
async fn empty<F: Fixture>() -> At<F> {
    let at = At::<F>::fresh().await;
    let ours = ["records", "releases", "maintenance", "traffic", "outbox_events"]
        .map(|name| format!("idempotency_{name}"));
    for table in ours.iter().map(String::as_str).chain(["_idem_migrations"]) {
        at.execute(&format!("DROP TABLE {table}")).await;
    }
    at
}

async fn migrate_makes_the_tables_and_check_says_what_is_missing<F: Fixture>() {
    let at = empty::<F>().await;
    let ran = at.idem(&["list"]).ended(2);
    assert!(ran.err().contains("run `idem migrate`"), "{}", ran.err());
    check("migrate-check.json", at.idem(&["migrate", "--check", "--json"]).ended(1).json());
    at.idem(&["migrate", "--check"]).ended(1);
    check("migrate.json", at.idem(&["migrate", "--json"]).ended(0).json());
    assert_eq!(at.idem(&["migrate", "--json"]).ended(0).json()["applied"].as_array().unwrap().len(), 0);
    at.idem(&["migrate", "--check"]).ended(0);
    at.idem(&["list"]).ended(0);
}

async fn tables_made_by_hand_from_the_printed_script_pass_the_check<F: Fixture>() {
    let at = empty::<F>().await;
    let script = at.idem(&["migrate", "--print"]).ended(0).out();
    let sql: String =
        script.lines().filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n");
    for statement in sql.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
        at.execute(statement).await;
    }
    at.idem(&["migrate", "--check"]).ended(0);
    at.drop_index().await;
    at.idem(&["migrate", "--check"]).ended(1);
}

on_every_database! {
    migrate_makes_the_tables_and_check_says_what_is_missing,
    tables_made_by_hand_from_the_printed_script_pass_the_check,
}
