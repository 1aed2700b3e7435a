//! Reading on MySQL and MariaDB: a transaction of its own for each checkout, in the application's pool.

use sqlx::mysql::{MySqlConnection, MySqlDatabaseError};
use sqlx::{AssertSqlSafe, MySql, MySqlPool, Row, SqlSafeStr};
use sqlx_core::transaction::TransactionManager;
use uuid::Uuid;

use super::{ReadPoolError, ReadStore};
use crate::store::StoreResult;

type Manager = <MySql as sqlx::Database>::TransactionManager;

/// There is no savepoint of that name.
const NO_SAVEPOINT: u16 = 1305;

/// Whether the session reads only, and what else of it decides where and how the next one on its connection works,
/// a writer's too. Each server skips the other's names.
macro_rules! session {
    () => {
        "/*!80000 @@transaction_read_only */ /*M!100100 @@tx_read_only */, \
         CONCAT_WS('\n', COALESCE(DATABASE(), ''), @@autocommit, @@sql_mode, @@time_zone, @@foreign_key_checks, \
         @@unique_checks, @@sql_log_bin, @@character_set_client, @@character_set_results, \
         @@collation_connection, @@sql_safe_updates, @@sql_select_limit \
         /*!80000 , @@transaction_isolation */ /*M!100100 , @@tx_isolation */)"
    };
}

const BEGINS: &str = concat!("SELECT ", session!());
/// A lock of the session outlives its transaction.
const ENDS: &str = concat!("SELECT ", session!(), ", RELEASE_ALL_LOCKS()");

/// What tells a checkout from any other: a savepoint that nobody else can name and that ends with the
/// transaction, and how the session was.
#[derive(Debug)]
pub struct Began {
    savepoint: String,
    session: Session,
}

#[derive(Debug)]
struct Session {
    read_only: bool,
    rest: String,
}

impl ReadStore for MySql {
    type Mark = Began;

    async fn open_read_only(pool: &MySqlPool) -> Result<MySqlPool, ReadPoolError> {
        pool.acquire().await?;
        Ok(pool.clone())
    }

    async fn begin_read(conn: &mut MySqlConnection) -> StoreResult<Began> {
        let session = session(conn, BEGINS).await?;
        let savepoint = format!("idem_read_{}", Uuid::new_v4().simple());
        // In a transaction alone, MariaDB still takes what defines tables, which ends it first.
        let begin =
            format!("SET SESSION TRANSACTION READ ONLY; START TRANSACTION READ ONLY; SAVEPOINT {savepoint}");
        Manager::begin(conn, Some(AssertSqlSafe(begin).into_sql_str())).await?;
        Ok(Began { savepoint, session })
    }

    async fn end_read(conn: &mut MySqlConnection, began: Began) -> StoreResult<bool> {
        let now = session(conn, ENDS).await?;
        if !now.read_only || now.rest != began.session.rest {
            return Ok(false);
        }
        while Manager::get_transaction_depth(conn) > 1 {
            // Fails where the checkout has ended its transaction itself.
            if !is_there(Manager::rollback(conn).await)? {
                return Ok(false);
            }
        }
        let release = AssertSqlSafe(format!("RELEASE SAVEPOINT {}", began.savepoint));
        if !is_there(sqlx::raw_sql(release).execute(&mut *conn).await)? {
            return Ok(false);
        }
        Manager::rollback(conn).await?;
        if !began.session.read_only {
            sqlx::raw_sql("SET SESSION TRANSACTION READ WRITE").execute(conn).await?;
        }
        Ok(true)
    }
}

/// As text, since a prepared statement goes on with the schema under which it was prepared.
async fn session(conn: &mut MySqlConnection, sql: &'static str) -> StoreResult<Session> {
    let row = sqlx::raw_sql(sql).fetch_one(conn).await?;
    let read_only: String = row.try_get_unchecked(0)?;
    Ok(Session { read_only: read_only == "1", rest: row.try_get_unchecked(1)? })
}

/// Whether the savepoint of a statement was there.
fn is_there<T>(done: StoreResult<T>) -> StoreResult<bool> {
    let number = |error: &sqlx::Error| {
        Some(error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>()?.number())
    };
    match done {
        Ok(_) => Ok(true),
        Err(error) if number(&error) == Some(NO_SAVEPOINT) => Ok(false),
        Err(error) => Err(error),
    }
}
