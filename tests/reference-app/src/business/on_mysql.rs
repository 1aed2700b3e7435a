//! The same on MySQL, whose placeholders and upsert are its own.

use sqlx::pool::PoolOptions;
use sqlx::{MySql, MySqlConnection, Pool};

use super::{Business, Counts, NewRow};

impl Business for MySql {
    async fn open(url: &str, connections: u32) -> sqlx::Result<Pool<Self>> {
        PoolOptions::new().max_connections(connections).connect(url).await
    }

    fn counts_url(database_url: &str) -> String {
        database_url.to_owned()
    }

    async fn create_rows(pool: &Pool<Self>) -> sqlx::Result<()> {
        let create = "CREATE TABLE IF NOT EXISTS business_rows (id BIGINT AUTO_INCREMENT PRIMARY KEY, \
                      case_name VARCHAR(255) NOT NULL, route VARCHAR(255) NOT NULL, \
                      subject VARCHAR(255) NOT NULL, content LONGTEXT NOT NULL, \
                      downstream_key VARCHAR(255) UNIQUE) ENGINE = InnoDB";
        sqlx::query(create).execute(pool).await.map(drop)
    }

    async fn create_entries(pool: &Pool<Self>) -> sqlx::Result<()> {
        let create = "CREATE TABLE IF NOT EXISTS entries \
                      (case_name VARCHAR(255) NOT NULL, route VARCHAR(255) NOT NULL) ENGINE = InnoDB";
        sqlx::query(create).execute(pool).await.map(drop)
    }

    async fn write_row(connection: &mut MySqlConnection, row: NewRow<'_>) -> sqlx::Result<i64> {
        // A second row of one downstream key gives the id of the first.
        let insert = "INSERT INTO business_rows (case_name, route, subject, content, downstream_key) \
                      VALUES (?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)";
        let insert = sqlx::query(insert).bind(row.case).bind(row.route).bind(row.subject);
        let done = insert.bind(row.content).bind(row.downstream_key).execute(connection).await?;
        i64::try_from(done.last_insert_id()).map_err(|error| sqlx::Error::Decode(error.into()))
    }

    async fn last_about(connection: &mut MySqlConnection, subject: &str) -> sqlx::Result<Option<String>> {
        let last = "SELECT content FROM business_rows WHERE subject = ? ORDER BY id DESC LIMIT 1";
        sqlx::query_scalar(last).bind(subject).fetch_optional(connection).await
    }

    async fn effects(pool: &Pool<Self>, case: &str) -> sqlx::Result<Counts> {
        let effects = "SELECT route, count(*) FROM business_rows WHERE case_name = ? GROUP BY route";
        sqlx::query_as(effects).bind(case).fetch_all(pool).await
    }

    async fn enter(entries: &Pool<Self>, case: &str, route: &str) -> sqlx::Result<()> {
        let enter = "INSERT INTO entries (case_name, route) VALUES (?, ?)";
        sqlx::query(enter).bind(case).bind(route).execute(entries).await.map(drop)
    }

    async fn executed(entries: &Pool<Self>, case: &str) -> sqlx::Result<Counts> {
        let executed = "SELECT route, count(*) FROM entries WHERE case_name = ? GROUP BY route";
        sqlx::query_as(executed).bind(case).fetch_all(entries).await
    }
}
