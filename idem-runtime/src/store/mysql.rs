//! The transitions on MySQL 8 and MariaDB, one statement each; a claim is read back by a second one.

use std::time::Duration;

use sqlx::mysql::{MySqlArguments, MySqlConnection, MySqlTypeInfo, MySqlValueRef};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection, MySql, Row, Type};
use sqlx_core::transaction::TransactionManager;

use super::migrate::{Step, migrator};
use super::row::reading;
use super::{Completion, Fault, NewClaim, Store, StoreResult, Swept, UnsafeSetting, millis};
use crate::key::RecordKey;
use crate::policy::{Mode, Terms};
use crate::record::{Answer, Bindings, FencingToken, Reading, Record, Timestamp};

mod answer;
mod fault;
mod inspect;
mod maintain;
mod outbox;
mod settings;
mod sql;

const MIGRATIONS: &[Step] = &[
    (1, "idempotency records", include_str!("../../migrations/mysql/0001_idempotency_records.sql")),
    (2, "idempotency releases", include_str!("../../migrations/mysql/0002_idempotency_releases.sql")),
    (3, "idempotency maintenance", include_str!("../../migrations/mysql/0003_idempotency_maintenance.sql")),
    (
        4,
        "idempotency outbox events",
        include_str!("../../migrations/mysql/0004_idempotency_outbox_events.sql"),
    ),
    (5, "idempotency steps", include_str!("../../migrations/mysql/0005_idempotency_steps.sql")),
    (6, "idempotency traffic", include_str!("../../migrations/mysql/0006_idempotency_traffic.sql")),
];

pub(crate) use settings::wait_for_other_nodes;

impl super::sealed::Sealed for MySql {}

type Statement = Query<'static, MySql, MySqlArguments>;

/// Binds the four columns of the unique key, as the bytes that they are.
fn by_key(statement: Statement, key: &RecordKey) -> Statement {
    key.columns().into_iter().fold(statement, |statement, column| statement.bind(column.as_bytes().to_vec()))
}

/// Binds key and token: the end of every fenced statement.
fn by_token(statement: Statement, key: &RecordKey, token: FencingToken) -> Statement {
    by_key(statement, key).bind(token.attempt).bind(token.claim_id)
}

/// Binds what `claim` writes from the claim's id on; the same in an insert and in a take-over.
fn bind_terms(statement: Statement, claim: &NewClaim) -> Statement {
    let terms = &claim.terms;
    // A renewal would make the completion of a snapshot transaction fail, so its lease is long at once.
    let snapshot_lease = if terms.mode == Mode::Transactional { terms.max_run } else { terms.lease };
    statement
        .bind(claim.claim_id)
        .bind(millis(snapshot_lease))
        .bind(millis(terms.lease))
        .bind(millis(snapshot_lease))
        .bind(millis(terms.lease))
        .bind(millis(terms.ttl))
        .bind(terms.mode.as_str())
        .bind(terms.on_lapse.as_str())
        .bind(terms.retry_failed)
        .bind(millis(terms.ttl))
        .bind(millis(terms.lease))
        .bind(millis(terms.wait))
        .bind(millis(terms.max_run))
        .bind(millis(terms.ttl))
}

fn bind_bindings(statement: Statement, bindings: &Bindings) -> Statement {
    statement.bind(bindings.task_id.clone()).bind(bindings.outbox_event_id.clone())
}

/// The number that a fenced statement gives back, or `None` when it touched no row.
async fn number(conn: &mut MySqlConnection, statement: Statement) -> StoreResult<Option<i64>> {
    let number = statement.execute(conn).await?.last_insert_id();
    Ok(i64::try_from(number).ok().filter(|number| *number > 0))
}

async fn moment(conn: &mut MySqlConnection, statement: Statement) -> StoreResult<Option<Timestamp>> {
    Ok(number(conn, statement).await?.map(Timestamp::from_micros))
}

/// What a probe says of the tables: whether all that it names is there.
fn is_there<T>(probe: StoreResult<T>) -> StoreResult<bool> {
    match probe {
        Ok(_) => Ok(true),
        Err(error) if matches!(fault::number(&error), Some(fault::NO_TABLE | fault::NO_COLUMN)) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn touched(conn: &mut MySqlConnection, statement: Statement) -> StoreResult<bool> {
    Ok(number(conn, statement).await?.is_some())
}

/// The record after a statement that claimed it, as of that statement: the lease is then seen whole.
async fn just_claimed(conn: &mut MySqlConnection, claim: &NewClaim) -> StoreResult<Option<Reading>> {
    let reading = MySql::read(conn, &claim.key).await?;
    Ok(reading.map(|reading| {
        let ours = reading.record.token.claim_id == claim.claim_id;
        let now = if ours { reading.record.updated_at } else { reading.now };
        Reading { now, ..reading }
    }))
}

impl Store for MySql {
    const SINGLE_WRITER: bool = false;
    const ANNOUNCES: bool = false;

    async fn migrate(pool: &sqlx::Pool<Self>) -> Result<(), sqlx::migrate::MigrateError> {
        migrator(MIGRATIONS).run(pool).await
    }

    async fn has_schema(conn: &mut MySqlConnection) -> StoreResult<bool> {
        is_there(sqlx::query(sql::PROBE).execute(conn).await)
    }

    async fn unsafe_settings(conn: &mut MySqlConnection) -> StoreResult<Vec<UnsafeSetting>> {
        settings::unsafe_settings(conn).await
    }

    async fn read(conn: &mut MySqlConnection, key: &RecordKey) -> StoreResult<Option<Reading>> {
        let row = by_key(sqlx::query(sql::READ), key).fetch_optional(conn).await?;
        row.as_ref().map(reading::<MySql>).transpose()
    }

    async fn read_settled(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        patience: Duration,
    ) -> StoreResult<Option<Reading>> {
        let statement = sqlx::query(AssertSqlSafe(sql::read_settled(patience))).persistent(false);
        // A lock alone, without a transaction around it, would not be waited for on every version.
        let mut transaction = conn.begin().await?;
        let row = by_key(statement, key).fetch_optional(&mut *transaction).await?;
        let reading = row.as_ref().map(reading::<MySql>).transpose()?;
        transaction.rollback().await?;
        Ok(reading)
    }

    async fn insert(conn: &mut MySqlConnection, claim: &NewClaim) -> StoreResult<Option<Reading>> {
        let statement = by_key(sqlx::query(sql::INSERT), &claim.key)
            .bind(claim.request_hash.clone())
            .bind(claim.request_fields.clone());
        match bind_terms(statement, claim).execute(&mut *conn).await {
            Ok(_) => just_claimed(conn, claim).await,
            // A statement of its own sees whatever made the insert fail.
            Err(error) if fault::number(&error) == Some(fault::DUPLICATE) => {
                Self::read(conn, &claim.key).await
            }
            Err(error) => Err(error),
        }
    }

    async fn take_over(
        conn: &mut MySqlConnection,
        seen: &Record,
        anew: bool,
        claim: &NewClaim,
    ) -> StoreResult<Option<Reading>> {
        let statement = sqlx::query(sql::TAKE_OVER)
            .bind(anew)
            .bind(claim.request_hash.clone())
            .bind(anew)
            .bind(claim.request_fields.clone())
            .bind(anew)
            .bind(anew)
            .bind(anew)
            .bind(anew);
        let statement = by_token(bind_terms(statement, claim), &claim.key, seen.token)
            .bind(seen.revision)
            .bind(seen.created_at.as_micros());
        if !touched(conn, statement).await? {
            return Ok(None);
        }
        let taken = just_claimed(conn, claim).await?;
        Ok(taken.filter(|reading| reading.record.token.claim_id == claim.claim_id))
    }

    async fn begin(conn: &mut MySqlConnection, _: FencingToken, terms: &Terms) -> StoreResult<()> {
        let begin = sqlx::SqlSafeStr::into_sql_str(AssertSqlSafe(sql::begin(terms.max_run)));
        <MySql as sqlx::Database>::TransactionManager::begin(conn, Some(begin)).await
    }

    async fn is_intact(conn: &mut MySqlConnection, _: FencingToken) -> StoreResult<bool> {
        // A deadlock ends the transaction as a whole. Nothing of it is kept, if it was the body's last statement.
        let last = sqlx::raw_sql(sql::LAST_ERROR).fetch_all(&mut *conn).await?;
        let codes = last.iter().map(|row| row.try_get_unchecked::<u32, _>("Code"));
        let codes = codes.collect::<Result<Vec<_>, _>>()?;
        let rolled_back = codes.iter().any(|code| u16::try_from(*code).is_ok_and(fault::rolls_back));
        Ok(has_savepoint(conn).await? || rolled_back)
    }

    async fn complete_in_transaction(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        token: FencingToken,
        answer: &Answer,
        bindings: &Bindings,
    ) -> StoreResult<Completion> {
        if !has_savepoint(conn).await? {
            return Ok(Completion::Ended);
        }
        let done = Self::complete(conn, key, token, answer, bindings).await?;
        Ok(done.map_or(Completion::Lost, |expires_at| Completion::Done { expires_at }))
    }

    async fn complete(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        token: FencingToken,
        answer: &Answer,
        bindings: &Bindings,
    ) -> StoreResult<Option<Timestamp>> {
        answer::check_size(conn, answer).await?;
        let statement = answer::bind(sqlx::query(sql::COMPLETE), Some(answer));
        moment(conn, by_token(bind_bindings(statement, bindings), key, token)).await
    }

    async fn fail(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        token: FencingToken,
        answer: Option<&Answer>,
    ) -> StoreResult<Option<Timestamp>> {
        if let Some(answer) = answer {
            answer::check_size(conn, answer).await?;
        }
        moment(conn, by_token(answer::bind(sqlx::query(sql::FAIL), answer), key, token)).await
    }

    async fn release(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        token: FencingToken,
        revision: Option<i64>,
    ) -> StoreResult<bool> {
        touched(conn, by_token(sqlx::query(sql::RELEASE), key, token).bind(revision)).await
    }

    async fn renew(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        token: FencingToken,
        lease: Duration,
    ) -> StoreResult<Option<Timestamp>> {
        let statement = sqlx::query(sql::RENEW).bind(millis(lease)).bind(millis(lease));
        moment(conn, by_token(statement, key, token)).await
    }

    async fn end_lease(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        token: FencingToken,
    ) -> StoreResult<bool> {
        touched(conn, by_token(sqlx::query(sql::END_LEASE), key, token)).await
    }

    async fn mark_unknown(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        token: FencingToken,
    ) -> StoreResult<bool> {
        touched(conn, by_token(sqlx::query(sql::MARK_UNKNOWN), key, token)).await
    }

    async fn bind(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        token: FencingToken,
        bindings: &Bindings,
    ) -> StoreResult<bool> {
        touched(conn, by_token(bind_bindings(sqlx::query(sql::BIND), bindings), key, token)).await
    }

    async fn steps(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        token: FencingToken,
    ) -> StoreResult<Option<Option<String>>> {
        let row = by_token(sqlx::query(sql::STEPS), key, token).fetch_optional(conn).await?;
        row.map(|row| row.try_get("steps")).transpose()
    }

    async fn keep_steps(
        conn: &mut MySqlConnection,
        key: &RecordKey,
        token: FencingToken,
        steps: &str,
    ) -> StoreResult<bool> {
        touched(conn, by_token(sqlx::query(sql::KEEP_STEPS).bind(steps.to_owned()), key, token)).await
    }

    async fn expire(conn: &mut MySqlConnection, batch: u32) -> StoreResult<Swept> {
        let done = sqlx::query(sql::EXPIRE).bind(batch).execute(conn).await?;
        Ok(Swept { count: done.rows_affected() })
    }

    async fn purge(conn: &mut MySqlConnection, older_than: Duration, batch: u32) -> StoreResult<Swept> {
        let older_than = millis(older_than);
        let statement = sqlx::query(sql::PURGE).bind(older_than).bind(older_than).bind(batch);
        Ok(Swept { count: statement.execute(conn).await?.rows_affected() })
    }

    /// Nobody outside this process can be told.
    async fn announce(_: &mut MySqlConnection) -> StoreResult<()> {
        Ok(())
    }

    fn classify(error: &sqlx::Error) -> Fault {
        fault::classify(error)
    }
}

/// Whether the savepoint of `begin` is still there; it is then released.
async fn has_savepoint(conn: &mut MySqlConnection) -> StoreResult<bool> {
    match sqlx::raw_sql(sql::LEAVE).execute(conn).await {
        Ok(_) => Ok(true),
        Err(error) if fault::number(&error) == Some(fault::NO_SAVEPOINT) => Ok(false),
        Err(error) => Err(error),
    }
}

impl Type<MySql> for Timestamp {
    fn type_info() -> MySqlTypeInfo {
        <i64 as Type<MySql>>::type_info()
    }

    fn compatible(ty: &MySqlTypeInfo) -> bool {
        <i64 as Type<MySql>>::compatible(ty)
    }
}

impl<'r> sqlx::Decode<'r, MySql> for Timestamp {
    fn decode(value: MySqlValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        <i64 as sqlx::Decode<'r, MySql>>::decode(value).map(Self::from_micros)
    }
}
