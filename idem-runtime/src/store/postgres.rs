//! The transitions on PostgreSQL, one statement and one round trip each.

use std::time::Duration;

use sqlx::encode::IsNull;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgConnection, PgTypeInfo, PgValueFormat, PgValueRef};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection, Postgres, Row, Type};
use sqlx_core::transaction::TransactionManager;

use super::migrate::{Step, migrator};
use super::row::{AnswerColumns, reading};
use super::{Completion, Fault, NewClaim, Store, StoreResult, Swept, UnsafeSetting, millis};
use crate::key::RecordKey;
use crate::policy::{Mode, Terms};
use crate::record::{Answer, Bindings, FencingToken, Reading, Record, Timestamp};

mod fault;
mod inspect;
mod maintain;
mod outbox;
mod settings;
mod sql;

const MIGRATIONS: &[Step] = &[
    (1, "idempotency records", include_str!("../../migrations/postgres/0001_idempotency_records.sql")),
    (2, "idempotency releases", include_str!("../../migrations/postgres/0002_idempotency_releases.sql")),
    (
        3,
        "idempotency maintenance",
        include_str!("../../migrations/postgres/0003_idempotency_maintenance.sql"),
    ),
    (
        4,
        "idempotency outbox events",
        include_str!("../../migrations/postgres/0004_idempotency_outbox_events.sql"),
    ),
    (5, "idempotency steps", include_str!("../../migrations/postgres/0005_idempotency_steps.sql")),
    (6, "idempotency traffic", include_str!("../../migrations/postgres/0006_idempotency_traffic.sql")),
];

impl super::sealed::Sealed for Postgres {}

type Statement = Query<'static, Postgres, PgArguments>;

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
    // A renewal would make the completion of a snapshot transaction fail, so its lease is long at once.
    let snapshot_lease = if terms.mode == Mode::Transactional { terms.max_run } else { terms.lease };
    // Losing the claim of a transaction in a crash loses its effects with it: it need not be flushed alone.
    let flush = terms.mode == Mode::External;
    statement
        .bind(claim.request_hash.clone())
        .bind(claim.request_fields.clone())
        .bind(claim.claim_id)
        .bind(millis(terms.lease))
        .bind(millis(snapshot_lease))
        .bind(flush)
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

/// The mark of one attempt's transaction: a setting that ends with it.
fn mark(token: FencingToken) -> String {
    format!("{}:{}", token.attempt, token.claim_id.simple())
}

async fn one(conn: &mut PgConnection, statement: Statement) -> StoreResult<Option<Reading>> {
    statement.fetch_optional(conn).await?.as_ref().map(reading::<Postgres>).transpose()
}

async fn end_of_life(conn: &mut PgConnection, statement: Statement) -> StoreResult<Option<Timestamp>> {
    statement.fetch_optional(conn).await?.map(|row| row.try_get(0)).transpose()
}

/// What a probe says of the tables: whether all that it names is there.
fn is_there<T>(probe: StoreResult<T>) -> StoreResult<bool> {
    match probe {
        Ok(_) => Ok(true),
        Err(error) if matches!(fault::code(&error).as_deref(), Some("42P01" | "42703")) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn touched(conn: &mut PgConnection, statement: Statement) -> StoreResult<bool> {
    Ok(statement.execute(conn).await?.rows_affected() == 1)
}

/// Whether advisory locks are missing or denied, as on CockroachDB.
fn lacks_locks(error: &sqlx::migrate::MigrateError) -> bool {
    let sqlx::migrate::MigrateError::Execute(error) = error else { return false };
    matches!(fault::code(error).as_deref(), Some("42883" | "42501" | "0A000"))
}

/// Each migration is a transaction that also writes its version under a unique key: of racers one commits, and
/// the others find it done when they look again.
async fn migrate_without_lock(pool: &sqlx::PgPool) -> Result<(), sqlx::migrate::MigrateError> {
    let mut migrator = migrator(MIGRATIONS);
    migrator.set_locking(false);
    let mut tries = 5;
    loop {
        tries -= 1;
        match migrator.run(pool).await {
            Err(error) if tries > 0 => {
                tracing::debug!(%error, "a migration without a lock is tried again");
                tokio::time::sleep(Duration::from_millis(200).mul_f64(0.5 + fastrand::f64())).await;
            }
            done => return done,
        }
    }
}

impl Store for Postgres {
    const SINGLE_WRITER: bool = false;
    const ANNOUNCES: bool = true;

    async fn migrate(pool: &sqlx::Pool<Self>) -> Result<(), sqlx::migrate::MigrateError> {
        match migrator(MIGRATIONS).run(pool).await {
            Err(error) if lacks_locks(&error) => migrate_without_lock(pool).await,
            done => done,
        }
    }

    async fn has_schema(conn: &mut PgConnection) -> StoreResult<bool> {
        is_there(sqlx::query(sql::PROBE).execute(conn).await)
    }

    async fn unsafe_settings(conn: &mut PgConnection) -> StoreResult<Vec<UnsafeSetting>> {
        settings::unsafe_settings(conn).await
    }

    async fn read(conn: &mut PgConnection, key: &RecordKey) -> StoreResult<Option<Reading>> {
        one(conn, keyed(sql::READ, key)).await
    }

    async fn read_settled(
        conn: &mut PgConnection,
        key: &RecordKey,
        patience: Duration,
    ) -> StoreResult<Option<Reading>> {
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {}",
            timeout_millis(patience)
        );
        let mut transaction = conn.begin_with(AssertSqlSafe(begin)).await?;
        let reading = one(&mut transaction, keyed(sql::READ_SETTLED, key)).await?;
        transaction.rollback().await?;
        Ok(reading)
    }

    async fn insert(conn: &mut PgConnection, claim: &NewClaim) -> StoreResult<Option<Reading>> {
        let inserted = bind_claim(keyed(sql::INSERT, &claim.key), claim).fetch_optional(&mut *conn).await?;
        let Some(row) = inserted else {
            // A statement of its own sees whatever made the insert do nothing.
            return Self::read(conn, &claim.key).await;
        };
        Ok(Some(claim.begun(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?)))
    }

    async fn take_over(
        conn: &mut PgConnection,
        seen: &Record,
        anew: bool,
        claim: &NewClaim,
    ) -> StoreResult<Option<Reading>> {
        let statement = bind_claim(keyed(sql::TAKE_OVER, &claim.key), claim)
            .bind(anew)
            .bind(seen.token.attempt)
            .bind(seen.token.claim_id)
            .bind(seen.revision)
            .bind(seen.created_at);
        one(conn, statement).await
    }

    async fn begin(conn: &mut PgConnection, token: FencingToken, terms: &Terms) -> StoreResult<()> {
        // Nothing but digits and hex is written into this text, so that BEGIN costs one round trip.
        let begin = format!(
            "BEGIN; SET LOCAL idle_in_transaction_session_timeout = {}; SET LOCAL idem.claim = '{}'",
            timeout_millis(terms.max_run),
            mark(token)
        );
        let begin = sqlx::SqlSafeStr::into_sql_str(AssertSqlSafe(begin));
        <Postgres as sqlx::Database>::TransactionManager::begin(conn, Some(begin)).await
    }

    async fn is_intact(conn: &mut PgConnection, token: FencingToken) -> StoreResult<bool> {
        match sqlx::query(sql::IS_INTACT).bind(mark(token)).fetch_one(conn).await {
            Ok(row) => row.try_get(0),
            // A failed transaction refuses to answer, which only an open transaction does.
            Err(error) if Self::classify(&error) == Fault::Aborted => Ok(true),
            Err(error) => Err(error),
        }
    }

    async fn complete_in_transaction(
        conn: &mut PgConnection,
        key: &RecordKey,
        token: FencingToken,
        answer: &Answer,
        bindings: &Bindings,
    ) -> StoreResult<Completion> {
        let statement = bind_answer(fenced(sql::COMPLETE_IN_TRANSACTION, key, token), Some(answer))
            .bind(bindings.task_id.clone())
            .bind(bindings.outbox_event_id.clone())
            .bind(mark(token));
        Ok(match end_of_life(conn, statement).await? {
            Some(expires_at) => Completion::Done { expires_at },
            None if Self::is_intact(conn, token).await? => Completion::Lost,
            None => Completion::Ended,
        })
    }

    async fn complete(
        conn: &mut PgConnection,
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
        conn: &mut PgConnection,
        key: &RecordKey,
        token: FencingToken,
        answer: Option<&Answer>,
    ) -> StoreResult<Option<Timestamp>> {
        end_of_life(conn, bind_answer(fenced(sql::FAIL, key, token), answer)).await
    }

    async fn release(
        conn: &mut PgConnection,
        key: &RecordKey,
        token: FencingToken,
        revision: Option<i64>,
    ) -> StoreResult<bool> {
        touched(conn, fenced(sql::RELEASE, key, token).bind(revision)).await
    }

    async fn renew(
        conn: &mut PgConnection,
        key: &RecordKey,
        token: FencingToken,
        lease: Duration,
    ) -> StoreResult<Option<Timestamp>> {
        end_of_life(conn, fenced(sql::RENEW, key, token).bind(millis(lease))).await
    }

    async fn end_lease(conn: &mut PgConnection, key: &RecordKey, token: FencingToken) -> StoreResult<bool> {
        touched(conn, fenced(sql::END_LEASE, key, token)).await
    }

    async fn mark_unknown(
        conn: &mut PgConnection,
        key: &RecordKey,
        token: FencingToken,
    ) -> StoreResult<bool> {
        touched(conn, fenced(sql::MARK_UNKNOWN, key, token)).await
    }

    async fn bind(
        conn: &mut PgConnection,
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
        conn: &mut PgConnection,
        key: &RecordKey,
        token: FencingToken,
    ) -> StoreResult<Option<Option<String>>> {
        let row = fenced(sql::STEPS, key, token).fetch_optional(conn).await?;
        row.map(|row| row.try_get("steps")).transpose()
    }

    async fn keep_steps(
        conn: &mut PgConnection,
        key: &RecordKey,
        token: FencingToken,
        steps: &str,
    ) -> StoreResult<bool> {
        touched(conn, fenced(sql::KEEP_STEPS, key, token).bind(steps.to_owned())).await
    }

    async fn expire(conn: &mut PgConnection, batch: u32) -> StoreResult<Swept> {
        let done = sqlx::query(sql::EXPIRE).bind(i64::from(batch)).execute(conn).await?;
        Ok(Swept { count: done.rows_affected() })
    }

    async fn purge(conn: &mut PgConnection, older_than: Duration, batch: u32) -> StoreResult<Swept> {
        let statement = sqlx::query(sql::PURGE).bind(i64::from(batch)).bind(millis(older_than));
        Ok(Swept { count: statement.execute(conn).await?.rows_affected() })
    }

    async fn announce(conn: &mut PgConnection) -> StoreResult<()> {
        sqlx::query(sql::outbox::ANNOUNCE).execute(conn).await.map(|_| ())
    }

    fn classify(error: &sqlx::Error) -> Fault {
        fault::classify(error)
    }
}

/// A PostgreSQL time-out: at least one millisecond, as zero would switch it off, at most 24 days.
fn timeout_millis(duration: Duration) -> i64 {
    millis(duration).clamp(1, i64::from(i32::MAX))
}

impl Type<Postgres> for Timestamp {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("timestamptz")
    }

    fn compatible(ty: &PgTypeInfo) -> bool {
        sqlx::TypeInfo::name(ty).eq_ignore_ascii_case("timestamptz")
    }
}

/// 2000-01-01, where PostgreSQL's clock begins, in microseconds since 1970-01-01.
const EPOCH: i64 = 946_684_800_000_000;

impl sqlx::Encode<'_, Postgres> for Timestamp {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, sqlx::error::BoxDynError> {
        sqlx::Encode::<Postgres>::encode(self.as_micros().saturating_sub(EPOCH), buffer)
    }
}

impl<'r> sqlx::Decode<'r, Postgres> for Timestamp {
    fn decode(value: PgValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        if value.format() != PgValueFormat::Binary {
            return Err("a timestamp came as text; only prepared statements read records".into());
        }
        let micros = i64::from_be_bytes(value.as_bytes()?.try_into()?);
        Ok(Self::from_micros(micros.saturating_add(EPOCH)))
    }
}
