//! Settings under which an acknowledged answer could be lost.

use idem_runtime::{BuildError, sqlite};
use idem_test_support::sqlite::SqliteDatabase;
use sqlx::sqlite::{SqlitePoolOptions, SqliteSynchronous};

/// The one unsafe setting that `refused` names, with its value.
fn named(refused: BuildError) -> (&'static str, String) {
    let message = refused.to_string();
    let BuildError::UnsafeSettings(settings) = refused else { panic!("{refused:?}") };
    let [setting] = settings.as_slice() else { panic!("{settings:?}") };
    assert!(message.contains(setting.name) && message.contains(&setting.value), "{message}");
    assert!(message.contains(setting.wanted), "it says what to do: {message}");
    (setting.name, setting.value.clone())
}

#[tokio::test]
async fn a_pool_of_which_one_connection_is_unsafe_is_refused() {
    let database = SqliteDatabase::create();
    let pool = database.pool(3).await;
    let mut connections = Vec::new();
    for _ in 0..3 {
        connections.push(pool.acquire().await.unwrap());
    }
    // As a library does that sets its own pragmas on whichever connection it gets.
    sqlx::query("PRAGMA synchronous = OFF").execute(&mut *connections[1]).await.unwrap();
    drop(connections);
    // A connection comes back to the pool in a task of its own.
    while pool.num_idle() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let refused = sqlite::Guard::builder(pool).migrate().build().await.unwrap_err();
    assert_eq!(named(refused), ("synchronous", "OFF".to_owned()));
}

#[tokio::test]
async fn a_sqlite_connection_that_does_not_flush_each_commit_is_refused_unless_allowed() {
    for (level, value) in [(SqliteSynchronous::Normal, "NORMAL"), (SqliteSynchronous::Off, "OFF")] {
        let database = SqliteDatabase::create();
        let pool = SqlitePoolOptions::new()
            .max_connections(2)
            .connect_with(database.options().synchronous(level))
            .await
            .unwrap();
        let refused = sqlite::Guard::builder(pool.clone()).migrate().build().await.unwrap_err();
        assert_eq!(named(refused), ("synchronous", value.to_owned()));
        sqlite::Guard::builder(pool.clone()).migrate().allow_unsafe_settings().build().await.unwrap();
        pool.close().await;
    }
}

#[tokio::test]
async fn a_sqlite_connection_that_reads_what_is_not_committed_is_refused_unless_allowed() {
    let database = SqliteDatabase::create();
    let options = database.options().pragma("read_uncommitted", "1");
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
    let refused = sqlite::Guard::builder(pool.clone()).migrate().build().await.unwrap_err();
    assert_eq!(named(refused), ("read_uncommitted", "ON".to_owned()));
    sqlite::Guard::builder(pool).migrate().allow_unsafe_settings().build().await.unwrap();
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn a_role_whose_commits_are_not_flushed_is_refused_unless_allowed() {
    use idem_runtime::postgres::Guard;

    for value in ["off", "local"] {
        let (fixture, pool) = crate::role(&[("synchronous_commit", value)], 2).await;
        let refused = Guard::builder(pool.clone()).build().await.unwrap_err();
        assert_eq!(named(refused), ("synchronous_commit", value.to_owned()));
        Guard::builder(pool).allow_unsafe_settings().build().await.unwrap();
        // This one is flushed here before it is acknowledged, whatever a standby does.
        let (other, pool) = crate::role(&[("synchronous_commit", "remote_write")], 2).await;
        Guard::builder(pool).build().await.unwrap();
        fixture.0.drop_database().await;
        other.0.drop_database().await;
    }
}
