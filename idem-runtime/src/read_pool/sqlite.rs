//! Reading on SQLite: a second pool, whose connections opened the file for reading only.

use sqlx::{Sqlite, SqliteConnection, SqlitePool};
use sqlx_core::transaction::TransactionManager;

use super::{ReadPoolError, ReadStore};
use crate::store::StoreResult;

type Manager = <Sqlite as sqlx::Database>::TransactionManager;

const FILE: &str = "SELECT file FROM pragma_database_list WHERE name = 'main'";
/// What a checkout could leave to the next: temporary tables hide those of the database, attached files add to them.
const LEFT: &str = "SELECT (SELECT count(*) FROM temp.sqlite_schema) \
                    + (SELECT count(*) FROM pragma_database_list WHERE name NOT IN ('main', 'temp'))";

impl ReadStore for Sqlite {
    type Mark = ();

    async fn open_read_only(pool: &SqlitePool) -> Result<SqlitePool, ReadPoolError> {
        let file: Option<String> = sqlx::query_scalar(FILE).fetch_one(pool).await?;
        if file.unwrap_or_default().is_empty() {
            return Err(ReadPoolError::InMemory);
        }
        let options = (*pool.connect_options()).clone().read_only(true);
        Ok(pool.options().clone().connect_with(options).await?)
    }

    async fn begin_read(conn: &mut SqliteConnection) -> StoreResult<()> {
        // One view of the data for the whole checkout, and whatever is temporary ends with it.
        Manager::begin(conn, None).await
    }

    async fn end_read(conn: &mut SqliteConnection, (): ()) -> StoreResult<bool> {
        while Manager::get_transaction_depth(conn) > 0 {
            // Fails where the checkout has ended its transaction itself.
            if Manager::rollback(conn).await.is_err() {
                return Ok(false);
            }
        }
        let left: i64 = sqlx::query_scalar(LEFT).fetch_one(conn).await?;
        Ok(left == 0)
    }
}
