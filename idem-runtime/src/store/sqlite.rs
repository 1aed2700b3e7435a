//! The transitions on SQLite: each a single statement, as SQLite lets one writer in at a time.

use std::time::Duration;

use sqlx::query::Query;

use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow, SqliteTypeInfo, SqliteValueRef};
use sqlx::{Connection, Row, Sqlite, Type};
use sqlx_core::transaction::TransactionManager;

use super::migrate::{Step, migrator};
use super::row::{AnswerColumns, reading};
use super::{Completion, Fault, NewClaim, Store, StoreResult, Swept, UnsafeSetting, millis};
use crate::key::RecordKey;
use crate::policy::Terms;
use crate::record::{Answer, Bindings, FencingToken, Reading, Record, Timestamp};

mod fault;
mod inspect;
mod maintain;
mod outbox;
mod sql;

const MIGRATIONS: &[Step] = &[
    (1, "idempotency records", include_str!("../../migrations/sqlite/0001_idempotency_records.sql")),
    (2, "idempotency releases", include_str!("../../migrations/sqlite/0002_idempotency_releases.sql")),
    (3, "idempotency maintenance", include_str!("../../migrations/sqlite/0003_idempotency_maintenance.sql")),
    (
        4,
        "idempotency outbox events",
        include_str!("../../migrations/sqlite/0004_idempotency_outbox_events.sql"),
    ),
    (5, "idempotency steps", include_str!("../../migrations/sqlite/0005_idempotency_steps.sql")),
    (6, "idempotency traffic", include_str!("../../migrations/sqlite/0006_idempotency_traffic.sql")),
];

impl super::sealed::Sealed for Sqlite {}

type Statement = Query<'static, Sqlite, SqliteArguments>;

/// Binds the four columns of the unique key.
fn keyed(sql: &'static str, key: &RecordKey) -> Statement {
    let [tenant, user, route, idempotency_key] = key.columns().map(str::to_owned);
    sqlx::query(sql).bind(tenant).bind(user).bind(route).bind(idempotency_key)
}

/// Binds key and token: the start of every fenced statement.
fn fenced(sql: &'static str, key: &RecordKey, token: FencingToken) -> Statement {
    keyed(sql, key).bind(token.attempt).bind(token.claim_id)
}

fn bind_claim(statement: Statement, claim: &NewClaim) -> Statement {
    let terms = &claim.terms;
    statement
        .bind(claim.request_hash.clone())
        .bind(claim.request_fields.clone())
        .bind(claim.claim_id)
        .bind(millis(terms.lease))
        .bind(terms.mode.as_str())
        .bind(terms.on_lapse.as_str())
        .bind(terms.retry_failed)
        .bind(millis(terms.ttl))
        .bind(millis(terms.wait))
        .bind(millis(terms.max_run))
}

fn bind_answer(statement: Statement, answer: Option<&Answer>) -> Statement {
    let columns = AnswerColumns::of(answer);
    statement
        .bind(columns.code)
        .bind(columns.headers)
        .bind(columns.content_type.map(str::to_owned))
        .bind(columns.body.map(<[u8]>::to_vec))
}

/// The row of a statement that has come to its end: `fetch_optional` leaves it at the row, before the commit that
/// belongs to it, and then nobody hears that this failed.
async fn row(conn: &mut SqliteConnection, statement: Statement) -> StoreResult<Option<SqliteRow>> {
    Ok(statement.fetch_all(conn).await?.pop())
}

async fn one(conn: &mut SqliteConnection, statement: Statement) -> StoreResult<Option<Reading>> {
    row(conn, statement).await?.as_ref().map(reading::<Sqlite>).transpose()
}

async fn end_of_life(conn: &mut SqliteConnection, statement: Statement) -> StoreResult<Option<Timestamp>> {
    row(conn, statement).await?.map(|row| row.try_get(0)).transpose()
}

/// Takes back the mark of our transaction; whether it was there.
async fn leave(conn: &mut SqliteConnection) -> StoreResult<bool> {
    match sqlx::query(sql::LEAVE).execute(conn).await {
        Ok(_) => Ok(true),
        Err(sqlx::Error::Database(error)) if error.message().starts_with("no such savepoint") => Ok(false),
        Err(error) => Err(error),
    }
}

/// What a probe says of the tables: whether all that it names is there.
fn is_there<T>(probe: StoreResult<T>) -> StoreResult<bool> {
    match probe {
        Ok(_) => Ok(true),
        Err(sqlx::Error::Database(error)) if error.message().starts_with("no such") => Ok(false),
        Err(error) => Err(error),
    }
}

async fn touched(conn: &mut SqliteConnection, statement: Statement) -> StoreResult<bool> {
    Ok(statement.execute(conn).await?.rows_affected() == 1)
}

impl Store for Sqlite {
    const SINGLE_WRITER: bool = true;
    const ANNOUNCES: bool = false;

    async fn migrate(pool: &sqlx::Pool<Self>) -> Result<(), sqlx::migrate::MigrateError> {
        migrator(MIGRATIONS).run(pool).await
    }

    async fn has_schema(conn: &mut SqliteConnection) -> StoreResult<bool> {
        is_there(sqlx::query(sql::PROBE).execute(conn).await)
    }

    async fn unsafe_settings(conn: &mut SqliteConnection) -> StoreResult<Vec<UnsafeSetting>> {
        let row = sqlx::query(sql::SETTINGS).fetch_one(conn).await?;
        let (synchronous, journal): (i64, String) =
            (row.try_get("synchronous")?, row.try_get("journal_mode")?);
        let mut unsafe_settings = Vec::new();
        // With a shared cache, a duplicate could be given the answer of a transaction that is then rolled back.
        if row.try_get::<i64, _>("read_uncommitted")? != 0 {
            let value = "ON".to_owned();
            unsafe_settings.push(UnsafeSetting::new(
                "read_uncommitted",
                value,
                "OFF",
                "a pragma of the connection",
            ));
        }
        if row.try_get::<String, _>("file")?.is_empty() {
            return Ok(unsafe_settings);
        }
        if synchronous < 2 {
            let value = if synchronous == 0 { "OFF" } else { "NORMAL" }.to_owned();
            unsafe_settings.push(UnsafeSetting::new(
                "synchronous",
                value,
                "FULL",
                "a pragma of the connection",
            ));
        }
        if matches!(journal.as_str(), "off" | "memory") {
            unsafe_settings.push(UnsafeSetting::new(
                "journal_mode",
                journal,
                "WAL",
                "a pragma of the connection",
            ));
        }
        Ok(unsafe_settings)
    }

    async fn read(conn: &mut SqliteConnection, key: &RecordKey) -> StoreResult<Option<Reading>> {
        one(conn, keyed(sql::READ, key)).await
    }

    async fn read_settled(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        patience: Duration,
    ) -> StoreResult<Option<Reading>> {
        let begin = async {
            let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await?;
            let reading = one(&mut transaction, keyed(sql::READ, key)).await?;
            transaction.rollback().await?;
            Ok(reading)
        };
        tokio::time::timeout(patience, begin).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    async fn insert(conn: &mut SqliteConnection, claim: &NewClaim) -> StoreResult<Option<Reading>> {
        let inserted = row(conn, bind_claim(keyed(sql::INSERT, &claim.key), claim)).await?;
        let Some(row) = inserted else { return Self::read(conn, &claim.key).await };
        Ok(Some(claim.begun(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
    }

    async fn take_over(
        conn: &mut SqliteConnection,
        seen: &Record,
        anew: bool,
        claim: &NewClaim,
    ) -> StoreResult<Option<Reading>> {
        let statement = bind_claim(keyed(sql::TAKE_OVER, &claim.key), claim)
            .bind(anew)
            .bind(seen.token.attempt)
            .bind(seen.token.claim_id)
            .bind(seen.revision)
            .bind(seen.created_at.as_micros());
        one(conn, statement).await
    }

    async fn begin(conn: &mut SqliteConnection, _: FencingToken, _: &Terms) -> StoreResult<()> {
        let begin = sqlx::SqlSafeStr::into_sql_str(sql::BEGIN);
        <Sqlite as sqlx::Database>::TransactionManager::begin(conn, Some(begin)).await
    }

    async fn is_intact(conn: &mut SqliteConnection, _: FencingToken) -> StoreResult<bool> {
        // A full disk ends the transaction as a whole. Nothing of it is kept, if it was the body's last statement.
        let rolled_back =
            conn.lock_handle().await?.last_error().is_some_and(|error| fault::rolls_back(&error));
        Ok(rolled_back || leave(conn).await?)
    }

    async fn complete_in_transaction(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        token: FencingToken,
        answer: &Answer,
        bindings: &Bindings,
    ) -> StoreResult<Completion> {
        if !leave(conn).await? {
            return Ok(Completion::Ended);
        }
        let done = Self::complete(conn, key, token, answer, bindings).await?;
        Ok(done.map_or(Completion::Lost, |expires_at| Completion::Done { expires_at }))
    }

    async fn complete(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        token: FencingToken,
        answer: &Answer,
        bindings: &Bindings,
    ) -> StoreResult<Option<Timestamp>> {
        let statement = bind_answer(fenced(sql::COMPLETE, key, token), Some(answer))
            .bind(bindings.task_id.clone())
            .bind(bindings.outbox_event_id.clone());
        end_of_life(conn, statement).await
    }

    async fn fail(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        token: FencingToken,
        answer: Option<&Answer>,
    ) -> StoreResult<Option<Timestamp>> {
        end_of_life(conn, bind_answer(fenced(sql::FAIL, key, token), answer)).await
    }

    async fn release(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        token: FencingToken,
        revision: Option<i64>,
    ) -> StoreResult<bool> {
        touched(conn, fenced(sql::RELEASE, key, token).bind(revision)).await
    }

    async fn renew(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        token: FencingToken,
        lease: Duration,
    ) -> StoreResult<Option<Timestamp>> {
        end_of_life(conn, fenced(sql::RENEW, key, token).bind(millis(lease))).await
    }

    async fn end_lease(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        token: FencingToken,
    ) -> StoreResult<bool> {
        touched(conn, fenced(sql::END_LEASE, key, token)).await
    }

    async fn mark_unknown(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        token: FencingToken,
    ) -> StoreResult<bool> {
        touched(conn, fenced(sql::MARK_UNKNOWN, key, token)).await
    }

    async fn bind(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        token: FencingToken,
        bindings: &Bindings,
    ) -> StoreResult<bool> {
        let statement = fenced(sql::BIND, key, token)
            .bind(bindings.task_id.clone())
            .bind(bindings.outbox_event_id.clone());
        touched(conn, statement).await
    }

    async fn steps(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        token: FencingToken,
    ) -> StoreResult<Option<Option<String>>> {
        let row = row(conn, fenced(sql::STEPS, key, token)).await?;
        row.map(|row| row.try_get("steps")).transpose()
    }

    async fn keep_steps(
        conn: &mut SqliteConnection,
        key: &RecordKey,
        token: FencingToken,
        steps: &str,
    ) -> StoreResult<bool> {
        touched(conn, fenced(sql::KEEP_STEPS, key, token).bind(steps.to_owned())).await
    }

    async fn expire(conn: &mut SqliteConnection, batch: u32) -> StoreResult<Swept> {
        let done = sqlx::query(sql::EXPIRE).bind(i64::from(batch)).execute(conn).await?;
        Ok(Swept { count: done.rows_affected() })
    }

    async fn purge(conn: &mut SqliteConnection, older_than: Duration, batch: u32) -> StoreResult<Swept> {
        let statement = sqlx::query(sql::PURGE).bind(i64::from(batch)).bind(millis(older_than));
        Ok(Swept { count: statement.execute(conn).await?.rows_affected() })
    }

    /// Nobody outside this process can be told.
    async fn announce(_: &mut SqliteConnection) -> StoreResult<()> {
        Ok(())
    }

    fn classify(error: &sqlx::Error) -> Fault {
        fault::classify(error)
    }
}

impl Type<Sqlite> for Timestamp {
    fn type_info() -> SqliteTypeInfo {
        <i64 as Type<Sqlite>>::type_info()
    }

    fn compatible(ty: &SqliteTypeInfo) -> bool {
        <i64 as Type<Sqlite>>::compatible(ty)
    }
}

impl<'r> sqlx::Decode<'r, Sqlite> for Timestamp {
    fn decode(value: SqliteValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        <i64 as sqlx::Decode<'r, Sqlite>>::decode(value).map(Self::from_micros)
    }
}
