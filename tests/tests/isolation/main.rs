//! The settings of a server and of a role: stricter isolation costs retries and nothing else, and what could
//! lose an answer is refused at start.

#[cfg(feature = "postgres")]
mod conflicts;
#[cfg(feature = "postgres")]
mod racers;
mod settings;

#[cfg(feature = "postgres")]
pub(crate) use snapshot::*;

/// A guard of a role whose transactions keep one snapshot.
#[cfg(feature = "postgres")]
mod snapshot {
    use std::str::FromStr;

    use idem_runtime::postgres::Guard;
    use idem_runtime::{Reading, RecordKey, Request};
    use idem_tests::{Fixture, OnPostgres, key, policy, scope};
    use sqlx::PgPool;
    use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

    pub(crate) const SNAPSHOT_LEVELS: [&str; 2] = ["repeatable read", "serializable"];

    /// A database and a pool of a role with these settings.
    pub(crate) async fn role(settings: &[(&str, &str)], connections: u32) -> (OnPostgres, PgPool) {
        let fixture = OnPostgres::create().await;
        let role = fixture.0.role_with(settings).await;
        let options = PgConnectOptions::from_str(&role).unwrap();
        let pool = PgPoolOptions::new().max_connections(connections).connect_with(options).await.unwrap();
        (fixture, pool)
    }

    pub(crate) async fn snapshot_guard(level: &str, connections: u32) -> (OnPostgres, Guard) {
        let (fixture, pool) = role(&[("default_transaction_isolation", level)], connections).await;
        let at = "SELECT (current_setting('transaction_isolation') = $1)::int::bigint";
        let ours: i64 = sqlx::query_scalar(at).bind(level).fetch_one(&pool).await.unwrap();
        assert_eq!(ours, 1, "the role is at {level}");
        (fixture, Guard::builder(pool).build().await.unwrap())
    }

    pub(crate) fn request(guard: &Guard, name: &str) -> Request {
        guard.request(scope(), key(name)).of("book").unwrap()
    }

    pub(crate) async fn read(guard: &Guard, name: &str) -> Reading {
        let key = RecordKey::new(scope(), policy().route().clone(), key(name));
        guard.read(&key).await.unwrap().unwrap()
    }
}
