//! A SQLite database has the settings that the framework asks for.

use idem_test_support::sqlite::SqliteDatabase;

async fn pragma(database: &SqliteDatabase, name: &'static str) -> String {
    let pool = database.pool(1).await;
    let row: (String,) =
        sqlx::query_as(sqlx::AssertSqlSafe(format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}")))
            .fetch_one(&pool)
            .await
            .expect("the pragma exists");
    row.0
}

#[tokio::test]
async fn the_settings_are_those_of_production() {
    let database = SqliteDatabase::create();
    assert_eq!(pragma(&database, "journal_mode").await, "wal");
    assert_eq!(pragma(&database, "synchronous").await, "2");
    assert_eq!(pragma(&database, "foreign_keys").await, "1");
}

#[tokio::test]
async fn two_databases_share_nothing_and_the_file_goes_with_the_value() {
    let (one, other) = (SqliteDatabase::create(), SqliteDatabase::create());
    let pool = one.pool(2).await;
    sqlx::query("CREATE TABLE t (id INTEGER)").execute(&pool).await.unwrap();
    sqlx::query("CREATE TABLE t (id INTEGER)").execute(&other.pool(2).await).await.unwrap();
    let by_url = sqlx::SqlitePool::connect(&one.url()).await.unwrap();
    sqlx::query("INSERT INTO t VALUES (1)").execute(&by_url).await.unwrap();
    by_url.close().await;
    pool.close().await;

    let path = one.path();
    assert!(path.exists());
    drop(one);
    assert!(!path.exists());
}
