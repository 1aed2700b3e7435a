//! A PostgreSQL database is fresh, reachable by options and URL, and takes roles with settings.

use idem_test_support::postgres::PostgresDatabase;
use sqlx::PgPool;

#[tokio::test]
async fn options_and_url_reach_the_same_fresh_database() {
    let database = PostgresDatabase::create().await;
    let pool = database.pool(2).await;
    sqlx::query("CREATE TABLE t (id bigint)").execute(&pool).await.unwrap();
    let by_url = PgPool::connect(&database.url()).await.unwrap();
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM t").fetch_one(&by_url).await.unwrap();
    assert_eq!(count, 0);
    by_url.close().await;

    let name = database.name().to_owned();
    database.drop_database().await;
    assert!(pool.acquire().await.is_err() || sqlx::query("SELECT 1").execute(&pool).await.is_err());

    let other = PostgresDatabase::create().await;
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_database WHERE datname = $1")
        .bind(name)
        .fetch_one(&other.pool(1).await)
        .await
        .unwrap();
    assert_eq!(left, 0);
    other.drop_database().await;
}

#[tokio::test]
async fn a_role_has_its_settings_and_its_rights_but_owns_nothing() {
    let database = PostgresDatabase::create().await;
    let admin = database.pool(1).await;
    sqlx::query("CREATE TABLE before (id bigserial)").execute(&admin).await.unwrap();
    let settings = [("default_transaction_isolation", "serializable"), ("application_name", "it's me")];
    let role = PgPool::connect(&database.role_with(&settings).await).await.unwrap();
    sqlx::query("CREATE TABLE after (id bigserial)").execute(&admin).await.unwrap();

    let shown: (String, String) = sqlx::query_as(
        "SELECT current_setting('transaction_isolation'), current_setting('application_name')",
    )
    .fetch_one(&role)
    .await
    .unwrap();
    assert_eq!(shown, ("serializable".to_owned(), "it's me".to_owned()));
    for statement in
        ["INSERT INTO before DEFAULT VALUES", "INSERT INTO after DEFAULT VALUES", "CREATE TABLE own ()"]
    {
        sqlx::query(statement).execute(&role).await.unwrap();
    }
    assert!(sqlx::query("DROP TABLE before").execute(&role).await.is_err());
    database.drop_database().await;
}
