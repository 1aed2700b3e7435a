//! The same on MySQL and MariaDB.

use sqlx::{MySql, Pool};

use super::rows::{Hooks, Rows, options, shared_statements};

#[expect(private_interfaces, reason = "only this program opens pools")]
impl Rows for MySql {
    async fn open(url: &str, connections: u32, _: Hooks) -> sqlx::Result<Pool<Self>> {
        options(connections).connect(url).await
    }

    async fn create(pool: &Pool<Self>) -> sqlx::Result<()> {
        let create = "CREATE TABLE effects (id BIGINT AUTO_INCREMENT PRIMARY KEY, effect LONGTEXT NOT NULL)";
        sqlx::query(create).execute(pool).await.map(drop)
    }

    shared_statements!("INSERT INTO effects (effect) VALUES (?)");
}
