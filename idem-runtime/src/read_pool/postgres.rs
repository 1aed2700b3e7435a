//! Reading on PostgreSQL: a transaction of its own for each checkout, in the application's pool.

use sqlx::{PgConnection, PgPool, Postgres, SqlSafeStr};
use sqlx_core::transaction::TransactionManager;

use super::{ReadPoolError, ReadStore};
use crate::store::StoreResult;

type Manager = <Postgres as sqlx::Database>::TransactionManager;

/// The moment at which a transaction began tells it from every other of its session, and nobody can set it.
const BEGAN: &str = "SELECT extract(epoch FROM now())::text";
/// A lock of the session outlives its transaction.
const ENDS: &str = "SELECT extract(epoch FROM now())::text, pg_advisory_unlock_all()::text";

impl ReadStore for Postgres {
    type Mark = String;

    async fn open_read_only(pool: &PgPool) -> Result<PgPool, ReadPoolError> {
        pool.acquire().await?;
        Ok(pool.clone())
    }

    async fn begin_read(conn: &mut PgConnection) -> StoreResult<String> {
        Manager::begin(conn, Some("BEGIN READ ONLY".into_sql_str())).await?;
        // After its first query a transaction can no longer be made READ WRITE.
        sqlx::query_scalar(BEGAN).fetch_one(conn).await
    }

    async fn end_read(conn: &mut PgConnection, began: String) -> StoreResult<bool> {
        let (now, _): (String, String) = sqlx::query_as(ENDS).fetch_one(&mut *conn).await?;
        // A rollback also takes back settings, LISTEN and cursors.
        while Manager::get_transaction_depth(conn) > 0 {
            Manager::rollback(conn).await?;
        }
        Ok(now == began)
    }
}
