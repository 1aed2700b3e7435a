//! What is particular about MySQL and MariaDB: isolation levels, deadlocks, packets and settings.
#![cfg(feature = "mysql")]

mod levels;
mod limits;
mod racers;

use idem_runtime::mysql::Guard;
use idem_runtime::{Policy, Reading, RecordKey, Request};
use idem_tests::{Fixture, OnMysql, key, scope};
use sqlx::MySqlPool;

pub(crate) fn request(guard: &Guard, name: &str) -> Request {
    guard.request(scope(), key(name)).of("book").unwrap()
}

pub(crate) async fn read(guard: &Guard, policy: &Policy, name: &str) -> Reading {
    let key = RecordKey::new(scope(), policy.route().clone(), key(name));
    guard.read(&key).await.unwrap().unwrap()
}

/// A fresh database and a pool whose sessions have these settings.
pub(crate) async fn sessions(settings: &[(&str, &str)]) -> (OnMysql, MySqlPool) {
    let fixture = OnMysql::create().await;
    let pool = fixture.0.pool_with(4, settings).await;
    (fixture, pool)
}
