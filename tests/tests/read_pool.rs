//! What a read pool refuses, and what of a checkout reaches the next: nothing.

use idem_runtime::{ReadConnection, ReadPool, ReadPoolError, ReadStore};
use idem_tests::{Fixture, OnSqlite, on_every_database};
use sqlx::Connection;

/// One connection, so that each checkout meets what the one before left.
async fn reads<F: Fixture<S: ReadStore>>(fixture: &F) -> ReadPool<F::S> {
    let pool = fixture.pool(1).await;
    ReadPool::open(&pool).await.expect("the database can be read")
}

async fn run<F: Fixture<S: ReadStore>>(
    connection: &mut ReadConnection<F::S>,
    sql: &str,
) -> sqlx::Result<u64> {
    F::execute(connection, sql).await
}

async fn number<F: Fixture<S: ReadStore>>(connection: &mut ReadConnection<F::S>, sql: &str) -> i64 {
    F::number(connection, sql).await.expect("a number")
}

const COUNT: &str = "SELECT count(*) FROM effects";

async fn a_write_fails_with_the_error_of_the_database<F: Fixture<S: ReadStore>>() {
    let fixture = F::create().await;
    let reads = reads(&fixture).await;
    for write in
        ["INSERT INTO effects (name) VALUES ('a')", "DELETE FROM effects", "CREATE TABLE other (a INT)"]
    {
        let mut connection = reads.acquire().await.unwrap();
        let error = run::<F>(&mut connection, write).await.unwrap_err();
        let message = error.as_database_error().expect("the database refuses").message().to_lowercase();
        assert!(
            ["read-only", "readonly", "read only"].iter().any(|words| message.contains(words)),
            "{write}: {message}"
        );
    }
    assert_eq!(number::<F>(&mut reads.acquire().await.unwrap(), COUNT).await, 0);
}

async fn a_checkout_sees_what_was_committed_before_it<F: Fixture<S: ReadStore>>() {
    let fixture = F::create().await;
    let pool = fixture.pool(2).await;
    let reads = reads(&fixture).await;
    for seen in 1..=3 {
        F::effect(&mut pool.acquire().await.unwrap(), "a").await.unwrap();
        let mut connection = reads.acquire().await.unwrap();
        assert_eq!(number::<F>(&mut connection, COUNT).await, seen);
    }
}

async fn savepoints_of_a_reader_end_with_their_checkout<F: Fixture<S: ReadStore>>()
where
    for<'c> &'c mut <F::S as sqlx::Database>::Connection: sqlx::Executor<'c, Database = F::S>,
{
    let fixture = F::create().await;
    let reads = reads(&fixture).await;
    let mut connection = reads.acquire().await.unwrap();
    let inner = connection.begin().await.unwrap();
    std::mem::forget(inner);
    drop(connection);
    let mut connection = reads.acquire().await.unwrap();
    assert!(run::<F>(&mut connection, "INSERT INTO effects (name) VALUES ('a')").await.is_err());
}

async fn a_checkout_that_committed_leaves_the_next_one_read_only<F: Fixture<S: ReadStore>>() {
    let fixture = F::create().await;
    let reads = reads(&fixture).await;
    for ending in ["COMMIT", "ROLLBACK"] {
        let mut connection = reads.acquire().await.unwrap();
        run::<F>(&mut connection, ending).await.unwrap();
        drop(connection);
        let mut connection = reads.acquire().await.unwrap();
        assert!(run::<F>(&mut connection, "INSERT INTO effects (name) VALUES ('a')").await.is_err());
    }
}

async fn a_temporary_table_does_not_hide_a_table_from_the_next_checkout<F: Fixture<S: ReadStore>>() {
    let fixture = F::create().await;
    let pool = fixture.pool(1).await;
    F::effect(&mut pool.acquire().await.unwrap(), "a").await.unwrap();
    pool.close().await;
    let reads = reads(&fixture).await;
    for ending in ["SELECT 1", "COMMIT"] {
        let mut connection = reads.acquire().await.unwrap();
        // PostgreSQL refuses it inside of the transaction, and the second time it is outside.
        run::<F>(&mut connection, ending).await.unwrap();
        let _ = run::<F>(&mut connection, "CREATE TEMPORARY TABLE effects (name TEXT)").await;
        drop(connection);
        assert_eq!(number::<F>(&mut reads.acquire().await.unwrap(), COUNT).await, 1, "after {ending}");
    }
}

async fn a_checkout_that_is_given_up_half_way_leaves_nothing_open<F: Fixture<S: ReadStore>>() {
    let fixture = F::create().await;
    let reads = reads(&fixture).await;
    for polls in 0..20 {
        let mut acquiring = Box::pin(reads.acquire());
        for _ in 0..polls {
            if futures_util::poll!(&mut acquiring).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(acquiring);
        let mut connection = reads.acquire().await.unwrap();
        assert_eq!(number::<F>(&mut connection, COUNT).await, 0);
    }
}

on_every_database!(
    a_write_fails_with_the_error_of_the_database,
    a_checkout_sees_what_was_committed_before_it,
    savepoints_of_a_reader_end_with_their_checkout,
    a_checkout_that_committed_leaves_the_next_one_read_only,
    a_temporary_table_does_not_hide_a_table_from_the_next_checkout,
    a_checkout_that_is_given_up_half_way_leaves_nothing_open,
);

#[tokio::test]
async fn a_sqlite_database_in_memory_is_refused_with_the_reason() {
    for url in ["sqlite::memory:", "sqlite:file:shared?mode=memory&cache=shared"] {
        let pool = sqlx::SqlitePool::connect(url).await.unwrap();
        let error = ReadPool::open(&pool).await.unwrap_err();
        assert!(matches!(error, ReadPoolError::InMemory), "{url}");
        assert!(error.to_string().contains("use a file"));
    }
}

#[tokio::test]
async fn an_attached_sqlite_file_is_read_only_and_gone_with_its_checkout() {
    let (fixture, other) = (OnSqlite::create().await, OnSqlite::create().await);
    let reads = reads(&fixture).await;
    let file = other.url().replace("sqlite://", "").split('?').next().unwrap().to_owned();
    for attach in [format!("ATTACH '{file}' AS other"), format!("ATTACH 'file:{file}?mode=rw' AS other")] {
        for ended in [false, true] {
            let mut connection = reads.acquire().await.unwrap();
            if ended {
                run::<OnSqlite>(&mut connection, "COMMIT").await.unwrap();
            }
            let attached = run::<OnSqlite>(&mut connection, &attach).await;
            assert!(attached.is_ok() || attach.contains("mode=rw"), "{attached:?}");
            let written =
                run::<OnSqlite>(&mut connection, "INSERT INTO other.effects (name) VALUES ('a')").await;
            assert!(written.is_err(), "{attach}");
            drop(connection);
            let mut connection = reads.acquire().await.unwrap();
            assert_eq!(
                number::<OnSqlite>(
                    &mut connection,
                    "SELECT count(*) FROM pragma_database_list WHERE name = 'other'"
                )
                .await,
                0
            );
        }
    }
}

#[cfg(feature = "postgres")]
mod on_postgres {
    use super::*;
    use idem_tests::OnPostgres;

    #[tokio::test]
    async fn a_reader_cannot_make_its_transaction_a_writing_one() {
        let fixture = OnPostgres::create().await;
        let reads = reads(&fixture).await;
        for attempt in [
            "SET TRANSACTION READ WRITE",
            "SET transaction_read_only = off",
            "SET LOCAL transaction_read_only = off",
        ] {
            let mut connection = reads.acquire().await.unwrap();
            assert!(run::<OnPostgres>(&mut connection, attempt).await.is_err(), "{attempt}");
            drop(connection);
            let mut connection = reads.acquire().await.unwrap();
            assert!(
                run::<OnPostgres>(&mut connection, "INSERT INTO effects (name) VALUES ('a')").await.is_err()
            );
        }
    }

    #[tokio::test]
    async fn no_setting_and_no_lock_of_a_checkout_reaches_the_next() {
        let fixture = OnPostgres::create().await;
        let reads = reads(&fixture).await;
        for ending in ["SELECT 1", "COMMIT", "COMMIT; BEGIN READ ONLY"] {
            let mut connection = reads.acquire().await.unwrap();
            for ending in ending.split("; ") {
                run::<OnPostgres>(&mut connection, ending).await.unwrap();
            }
            for leak in [
                "SET search_path = pg_catalog",
                "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
                "SELECT pg_advisory_lock(7)",
            ] {
                run::<OnPostgres>(&mut connection, leak).await.unwrap();
            }
            drop(connection);
            let mut connection = reads.acquire().await.unwrap();
            assert_eq!(number::<OnPostgres>(&mut connection, COUNT).await, 0, "after {ending}");
            let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = \
                         (SELECT oid FROM pg_database WHERE datname = current_database())";
            assert_eq!(number::<OnPostgres>(&mut connection, locks).await, 0, "after {ending}");
        }
    }

    #[tokio::test]
    async fn a_clean_checkout_gives_its_session_back_and_one_that_committed_does_not() {
        let fixture = OnPostgres::create().await;
        let reads = reads(&fixture).await;
        let pid = "SELECT pg_backend_pid()::bigint";
        let first = number::<OnPostgres>(&mut reads.acquire().await.unwrap(), pid).await;
        let mut second = reads.acquire().await.unwrap();
        assert_eq!(number::<OnPostgres>(&mut second, pid).await, first);
        run::<OnPostgres>(&mut second, "COMMIT").await.unwrap();
        // What the documentation admits: outside of the transaction nothing holds it.
        run::<OnPostgres>(&mut second, "INSERT INTO effects (name) VALUES ('a')").await.unwrap();
        drop(second);
        assert_ne!(number::<OnPostgres>(&mut reads.acquire().await.unwrap(), pid).await, first);
    }
}

#[cfg(feature = "mysql")]
mod on_mysql {
    use super::*;
    use idem_tests::OnMysql;

    const SESSION: &str = "SELECT CAST(CONNECTION_ID() AS SIGNED)";

    #[tokio::test]
    async fn a_reader_cannot_make_its_transaction_a_writing_one() {
        let fixture = OnMysql::create().await;
        let reads = reads(&fixture).await;
        for attempt in
            ["SET TRANSACTION READ WRITE", "SET SESSION TRANSACTION READ WRITE", "SET tx_read_only = OFF"]
        {
            let mut connection = reads.acquire().await.unwrap();
            let _ = run::<OnMysql>(&mut connection, attempt).await;
            let written = run::<OnMysql>(&mut connection, "INSERT INTO effects (name) VALUES ('a')").await;
            assert!(written.is_err(), "{attempt}");
            drop(connection);
            let mut connection = reads.acquire().await.unwrap();
            let written = run::<OnMysql>(&mut connection, "INSERT INTO effects (name) VALUES ('a')").await;
            assert!(written.is_err(), "after {attempt}");
        }
    }

    #[tokio::test]
    async fn a_writer_of_the_same_pool_writes_after_a_reader() {
        let fixture = OnMysql::create().await;
        let pool = fixture.pool(1).await;
        let reads = ReadPool::open(&pool).await.unwrap();
        for effects in 1..3 {
            drop(reads.acquire().await.unwrap());
            OnMysql::effect(&mut pool.acquire().await.unwrap(), "a").await.unwrap();
            assert_eq!(OnMysql::effects(&pool, "a").await, effects);
        }
        // What was read-only before stays so.
        run_on(&pool, "SET SESSION TRANSACTION READ ONLY").await.unwrap();
        drop(reads.acquire().await.unwrap());
        assert!(run_on(&pool, "INSERT INTO effects (name) VALUES ('a')").await.is_err());
    }

    async fn run_on(pool: &sqlx::MySqlPool, sql: &str) -> sqlx::Result<u64> {
        OnMysql::execute(&mut *pool.acquire().await.unwrap(), sql).await
    }

    #[tokio::test]
    async fn no_lock_and_no_setting_that_a_writer_minds_reaches_the_next_checkout() {
        let fixture = OnMysql::create().await;
        let reads = reads(&fixture).await;
        for leak in [
            "SET autocommit = 0",
            "SET sql_mode = ''",
            "USE information_schema",
            "SET foreign_key_checks = 0",
        ] {
            for ending in ["SELECT 1", "COMMIT", "COMMIT; START TRANSACTION READ ONLY"] {
                let mut connection = reads.acquire().await.unwrap();
                let first = number::<OnMysql>(&mut connection, SESSION).await;
                run::<OnMysql>(&mut connection, ending).await.unwrap();
                run::<OnMysql>(&mut connection, leak).await.unwrap();
                drop(connection);
                let mut connection = reads.acquire().await.unwrap();
                assert_ne!(number::<OnMysql>(&mut connection, SESSION).await, first, "{leak} after {ending}");
                assert_eq!(number::<OnMysql>(&mut connection, COUNT).await, 0);
            }
        }
        let mut connection = reads.acquire().await.unwrap();
        let lock = format!("SELECT GET_LOCK('{}', 0)", fixture.0.name());
        assert_eq!(number::<OnMysql>(&mut connection, &lock).await, 1);
        drop(connection);
        let free = format!("SELECT IS_FREE_LOCK('{}')", fixture.0.name());
        assert_eq!(number::<OnMysql>(&mut reads.acquire().await.unwrap(), &free).await, 1);
    }

    #[tokio::test]
    async fn a_clean_checkout_gives_its_session_back_and_one_that_committed_does_not() {
        let fixture = OnMysql::create().await;
        let reads = reads(&fixture).await;
        let first = number::<OnMysql>(&mut reads.acquire().await.unwrap(), SESSION).await;
        for ending in ["COMMIT", "ROLLBACK", "COMMIT; START TRANSACTION READ ONLY; SAVEPOINT idem_read"] {
            let mut connection = reads.acquire().await.unwrap();
            let session = number::<OnMysql>(&mut connection, SESSION).await;
            assert!(session == first || ending != "COMMIT", "{ending}");
            run::<OnMysql>(&mut connection, ending).await.unwrap();
            drop(connection);
            assert_ne!(number::<OnMysql>(&mut reads.acquire().await.unwrap(), SESSION).await, session);
        }
    }
}
