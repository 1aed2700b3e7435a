//! The same order, guarded and not, and the floor: a plain record in the same transaction.

use std::path::Path;
use std::str::FromStr;

use idem_runtime::store::Store;
use idem_runtime::{
    Claim, Error as IdemError, IdempotencyKey, IdempotencyMutationGuard, Maintenance, MaintenanceHandle,
    Mutation, Policy, RecordKey, Scope, Success,
};
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, MySqlPool, PgPool, SqlitePool};
use tokio::sync::Semaphore;

use crate::Error;
use crate::fill::{self, Dialect};

/// One database under work; every operation says how many requests it answered.
pub(crate) trait Work: Send + Sync + 'static {
    /// BEGIN, the order, COMMIT.
    fn unguarded(&self) -> impl Future<Output = Result<u64, Error>> + Send;
    /// BEGIN, the order, a plain record with the key, COMMIT.
    fn floor(&self, key: &str) -> impl Future<Output = Result<u64, Error>> + Send;
    /// The order in a guard's transaction.
    fn guarded(&self, key: &str) -> impl Future<Output = Result<u64, Error>> + Send;
    /// The same by one of the other processes, which is unlikely to have met the key.
    fn elsewhere(&self, key: &str) -> impl Future<Output = Result<u64, Error>> + Send;
    /// The order on a connection of its own, in external mode.
    fn external(&self, key: &str) -> impl Future<Output = Result<u64, Error>> + Send;
    /// What the cheapest replay could be.
    fn point_select(&self, key: &str) -> impl Future<Output = Result<u64, Error>> + Send;
    /// Sixteen equal requests at once, each with `wait`.
    fn storm(&self, key: &str) -> impl Future<Output = Result<u64, Error>> + Send;
    /// Runs any statement.
    fn execute(&self, sql: &str) -> impl Future<Output = Result<(), Error>> + Send;
    /// One number from the database.
    fn number(&self, sql: &str) -> impl Future<Output = Result<i64, Error>> + Send;
    /// The hash of the request of `guarded` with this key, which has been answered.
    fn hash(&self, key: &str) -> impl Future<Output = Result<String, Error>> + Send;
    /// Stands for so many other processes, each with a guard of its own.
    fn spread(&mut self, processes: usize) -> impl Future<Output = Result<(), Error>> + Send;
    /// Starts the maintenance.
    fn maintain(&self, maintenance: Maintenance) -> MaintenanceHandle;
    /// How to write statements for this database.
    fn dialect(&self) -> &'static Dialect;
}

struct Shop<S: Store> {
    guard: IdempotencyMutationGuard<S>,
    others: Vec<IdempotencyMutationGuard<S>>,
    policy: Policy,
    waiting: Policy,
    /// Writers of SQLite take turns without the guard too, or the comparison would be with lock errors.
    turns: Semaphore,
}

pub(crate) const ORDER: &str = "INSERT INTO orders (sku, quantity) VALUES ('book', 1)";

async fn shop<S: Store>(pool: sqlx::Pool<S>, writers: usize) -> Result<Shop<S>, Error> {
    let guard = IdempotencyMutationGuard::builder(pool).migrate().build().await?;
    let policy = Policy::new("orders.create")?;
    let waiting = policy.clone().wait(std::time::Duration::from_secs(30));
    Ok(Shop { guard, others: Vec::new(), policy, waiting, turns: Semaphore::new(writers) })
}

/// A file with WAL and full synchronisation.
pub(crate) async fn pool_on_sqlite(path: &Path, connections: u32) -> Result<SqlitePool, Error> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let pool: SqlitePool =
        SqlitePoolOptions::new().max_connections(connections.max(2)).connect_with(options).await?;
    pool.execute(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, sku TEXT NOT NULL, quantity INTEGER NOT NULL)",
    )
    .await?;
    Ok(pool)
}

/// The work on such a file.
pub(crate) async fn on_sqlite(path: &Path, connections: u32) -> Result<impl Work + use<>, Error> {
    let pool = pool_on_sqlite(path, connections).await?;
    pool.execute("CREATE TABLE plain_records (k TEXT PRIMARY KEY, hash TEXT NOT NULL, code INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID").await?;
    shop(pool, 1).await
}

/// A database of its own on the server, with the table of orders.
pub(crate) async fn pool_on_postgres(url: &str, connections: u32) -> Result<PgPool, Error> {
    let options = PgConnectOptions::from_str(url)?;
    let name = format!("bench_{:016x}", fastrand::u64(..));
    options.connect().await?.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await?;
    let pool: PgPool = PgPoolOptions::new()
        .max_connections(connections.max(2))
        .connect_with(options.database(&name))
        .await?;
    pool.execute("CREATE TABLE orders (id bigserial PRIMARY KEY, sku text NOT NULL, quantity int NOT NULL)")
        .await?;
    Ok(pool)
}

/// The work on a database of its own.
pub(crate) async fn on_postgres(url: &str, connections: u32) -> Result<impl Work + use<>, Error> {
    let pool = pool_on_postgres(url, connections).await?;
    pool.execute("CREATE TABLE plain_records (tenant text, usr text, route text, k text, hash text NOT NULL, code int NOT NULL, body bytea NOT NULL, expires_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (tenant, usr, route, k))").await?;
    pool.execute("CREATE INDEX ON plain_records (expires_at)").await?;
    shop(pool, Semaphore::MAX_PERMITS).await
}

/// A database of its own on the server, with the table of orders.
pub(crate) async fn pool_on_mysql(url: &str, connections: u32) -> Result<MySqlPool, Error> {
    let options = MySqlConnectOptions::from_str(url)?;
    let name = format!("bench_{:016x}", fastrand::u64(..));
    options.connect().await?.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await?;
    let pool: MySqlPool = MySqlPoolOptions::new()
        .max_connections(connections.max(2))
        .connect_with(options.database(&name))
        .await?;
    pool.execute(
        "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, sku TEXT NOT NULL, quantity INT NOT NULL)",
    )
    .await?;
    Ok(pool)
}

/// The work on a database of its own.
pub(crate) async fn on_mysql(url: &str, connections: u32) -> Result<impl Work + use<>, Error> {
    let pool = pool_on_mysql(url, connections).await?;
    pool.execute("CREATE TABLE plain_records (k VARCHAR(64) PRIMARY KEY, hash TEXT NOT NULL, code INT NOT NULL, body BLOB NOT NULL)").await?;
    shop(pool, Semaphore::MAX_PERMITS).await
}

macro_rules! work {
    ($database:ty, $begin:literal, $record:literal, $select:literal, $dialect:expr) => {
        impl Work for Shop<$database> {
            async fn unguarded(&self) -> Result<u64, Error> {
                let _turn = self.turns.acquire().await?;
                let mut transaction = self.guard.pool().begin_with($begin).await?;
                sqlx::query(ORDER).execute(&mut *transaction).await?;
                transaction.commit().await?;
                Ok(1)
            }

            async fn floor(&self, key: &str) -> Result<u64, Error> {
                let _turn = self.turns.acquire().await?;
                let mut transaction = self.guard.pool().begin_with($begin).await?;
                sqlx::query(ORDER).execute(&mut *transaction).await?;
                sqlx::query($record)
                    .bind(key)
                    .bind("v1:-:0123456789012345678901234567890123456789012345678901234567890123")
                    .bind(201)
                    .bind(&b"\"ordered\""[..])
                    .execute(&mut *transaction)
                    .await?;
                transaction.commit().await?;
                Ok(1)
            }

            async fn guarded(&self, key: &str) -> Result<u64, Error> {
                self.order(&self.guard, &self.policy, key).await
            }

            async fn elsewhere(&self, key: &str) -> Result<u64, Error> {
                let guard = fastrand::choice(&self.others).ok_or("no other processes")?;
                self.order(guard, &self.policy, key).await
            }

            async fn external(&self, key: &str) -> Result<u64, Error> {
                let request = self.guard.request(Scope::new("acme", "user-7")?, IdempotencyKey::new(key)?);
                self.guard
                    .run_external(&self.policy, request.of("book")?, async |claim: &Claim<$database>| {
                        let _turn = self.turns.acquire().await.map_err(|_| IdemError::Lost)?;
                        let pool = claim.guard().pool();
                        sqlx::query(ORDER).execute(pool).await.map_err(|_| IdemError::Lost)?;
                        Ok::<_, IdemError>(Success::new(String::from("ordered")))
                    })
                    .await?;
                Ok(1)
            }

            async fn point_select(&self, key: &str) -> Result<u64, Error> {
                sqlx::query($select).bind(key).fetch_one(self.guard.pool()).await?;
                Ok(1)
            }

            async fn storm(&self, key: &str) -> Result<u64, Error> {
                let twins = (0..16).map(|_| Box::pin(self.order(&self.guard, &self.waiting, key)));
                for outcome in futures_util::future::join_all(twins).await {
                    outcome?;
                }
                Ok(16)
            }

            async fn execute(&self, sql: &str) -> Result<(), Error> {
                sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(self.guard.pool()).await?;
                Ok(())
            }

            async fn number(&self, sql: &str) -> Result<i64, Error> {
                Ok(sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(self.guard.pool()).await?)
            }

            async fn hash(&self, key: &str) -> Result<String, Error> {
                let scope = Scope::new("acme", "user-7")?;
                let key = RecordKey::new(scope, self.policy.route().clone(), IdempotencyKey::new(key)?);
                Ok(self.guard.read(&key).await?.ok_or("no such record")?.record.request_hash)
            }

            async fn spread(&mut self, processes: usize) -> Result<(), Error> {
                for _ in 0..processes {
                    let builder = IdempotencyMutationGuard::builder(self.guard.pool().clone());
                    self.others.push(builder.build().await?);
                }
                Ok(())
            }

            fn maintain(&self, maintenance: Maintenance) -> MaintenanceHandle {
                self.guard.spawn_maintenance(maintenance)
            }

            fn dialect(&self) -> &'static Dialect {
                $dialect
            }
        }

        impl Shop<$database> {
            async fn order(
                &self,
                guard: &IdempotencyMutationGuard<$database>,
                policy: &Policy,
                key: &str,
            ) -> Result<u64, Error> {
                let request = guard.request(Scope::new("acme", "user-7")?, IdempotencyKey::new(key)?);
                guard
                    .run(policy, request.of("book")?, async |mutation: &mut Mutation<$database>| {
                        sqlx::query(ORDER).execute(&mut **mutation).await.map_err(|_| IdemError::Lost)?;
                        Ok::<_, IdemError>(Success::new(String::from("ordered")))
                    })
                    .await?;
                Ok(1)
            }
        }
    };
}

work!(
    sqlx::Sqlite,
    "BEGIN IMMEDIATE",
    "INSERT INTO plain_records (k, hash, code, body) VALUES (?1, ?2, ?3, ?4)",
    "SELECT request_hash, response_code, response_body FROM idempotency_records WHERE tenant_id = 'acme' \
     AND user_id = 'user-7' AND route = 'orders.create' AND idempotency_key = ?1",
    &fill::SQLITE
);
work!(
    sqlx::Postgres,
    "BEGIN",
    "INSERT INTO plain_records (tenant, usr, route, k, hash, code, body) \
     VALUES ('acme', 'user-7', 'orders.create', $1, $2, $3, $4)",
    "SELECT request_hash, response_code, response_body FROM idempotency_records WHERE tenant_id = 'acme' \
     AND user_id = 'user-7' AND route = 'orders.create' AND idempotency_key = $1",
    &fill::POSTGRES
);
work!(
    sqlx::MySql,
    "BEGIN",
    "INSERT INTO plain_records (k, hash, code, body) VALUES (?, ?, ?, ?)",
    "SELECT request_hash, response_code, response_body FROM idempotency_records WHERE tenant_id = 'acme' \
     AND user_id = 'user-7' AND route = 'orders.create' AND idempotency_key = ?",
    &fill::MYSQL
);
