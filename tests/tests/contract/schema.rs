//! What the database itself holds up.

use idem_runtime::store::Store;
use idem_tests::{Fixture, on_every_database};

use crate::*;

async fn the_database_itself_refuses_an_impossible_row<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    at.claimed(&claim("k")).await;
    for (impossible, why) in [
        ("locked_until = NULL", "processing without a lease"),
        ("status = 'succeeded', locked_until = NULL, completed_at = created_at", "success without a code"),
        ("status = 'succeeded', locked_until = NULL, response_code = 200", "success without completion"),
        ("status = 'failed', locked_until = NULL", "failure without completion"),
        ("attempt = 0", "attempt below one"),
        ("revision = 0", "revision below one"),
        ("status = 'paused', locked_until = NULL", "unknown status"),
        ("response_code = 200", "an answer while processing"),
        ("response_body = response_body, response_headers = '[]'", "headers without a code"),
        ("expires_at = created_at", "a lease beyond the life"),
        ("released_at = created_at", "released while processing"),
        ("mode = 'both'", "unknown mode"),
        ("on_lapse = 'refuse'", "on_lapse in a transaction"),
        ("ttl_ms = 0", "no life"),
        ("lease_ms = 0", "no lease"),
        ("tenant_id = ''", "an empty tenant"),
        ("idempotency_key = NULL", "no key"),
    ] {
        let sql = format!("UPDATE idempotency_records SET {impossible}");
        assert!(F::execute(&mut at.connection, &sql).await.is_err(), "{why}: {impossible}");
    }
    F::execute(&mut at.connection, "UPDATE idempotency_records SET revision = 2").await.unwrap();
    let unknown = "UPDATE idempotency_records SET status = 'failed', locked_until = NULL, \
                   completed_at = created_at, outcome_unknown = (1 = 1)";
    assert!(F::execute(&mut at.connection, unknown).await.is_err(), "a failure whose outcome is unknown");
}

async fn a_missing_or_outdated_table_is_noticed<F: Fixture>() {
    let mut at = At::<F>::fresh().await;
    assert!(F::S::has_schema(&mut at.connection).await.unwrap());
    let outdated = "ALTER TABLE idempotency_records DROP COLUMN request_fields";
    F::execute(&mut at.connection, outdated).await.unwrap();
    assert!(!F::S::has_schema(&mut at.connection).await.unwrap());
    F::execute(&mut at.connection, "DROP TABLE idempotency_records").await.unwrap();
    assert!(!F::S::has_schema(&mut at.connection).await.unwrap());
}

async fn a_missing_table_of_the_maintenance_is_noticed<F: Fixture>() {
    for table in ["idempotency_maintenance", "idempotency_traffic"] {
        let mut at = At::<F>::fresh().await;
        F::execute(&mut at.connection, &format!("DROP TABLE {table}")).await.unwrap();
        assert!(!F::S::has_schema(&mut at.connection).await.unwrap(), "{table}");
    }
}

async fn migrations_may_run_twice_and_at_once<F: Fixture>() {
    let fixture = F::create().await;
    let pool = fixture.pool(4).await;
    let (first, second) = futures_util::join!(F::S::migrate(&pool), F::S::migrate(&pool));
    first.unwrap();
    second.unwrap();
}

on_every_database! {
    the_database_itself_refuses_an_impossible_row,
    a_missing_or_outdated_table_is_noticed,
    a_missing_table_of_the_maintenance_is_noticed,
    migrations_may_run_twice_and_at_once,
}
