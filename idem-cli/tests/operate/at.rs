//! A fresh database, records in it, and the program run on it.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use idem_runtime::store::{NewClaim, Store};
use idem_runtime::{
    Answer, AnswerBody, Bindings, Defaults, FencingToken, Mode, OnLapse, Policy, RecordKey, Route, Terms,
};
use idem_tests::{Fixture, key, scope};
use serde_json::Value;
use sqlx::Pool;
use uuid::Uuid;

/// How long each life is.
pub(crate) const LIFE: Duration = Duration::from_hours(24);

/// A run of the program.
pub(crate) struct Ran(Output);

impl Ran {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.0.stdout).unwrap_or_else(|_| panic!("{} {}", self.out(), self.err()))
    }

    /// The output of a run that ended with `code`.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "{}{}", self.out(), self.err());
        self
    }
}

/// Runs the program on the database at `url`.
pub(crate) fn idem(url: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_idem"));
    command.args(arguments).env("DATABASE_URL", url).env("USER", "ann");
    Ran(command.output().unwrap())
}

/// A database with the tables and no records.
pub(crate) struct At<F: Fixture> {
    pub(crate) fixture: F,
    pub(crate) pool: Pool<F::S>,
}

impl<F: Fixture> At<F> {
    pub(crate) async fn fresh() -> Self {
        let fixture = F::create().await;
        let pool = fixture.pool(2).await;
        Self { fixture, pool }
    }

    pub(crate) fn url(&self) -> String {
        self.fixture.url()
    }

    /// Runs the program here.
    pub(crate) fn idem(&self, arguments: &[&str]) -> Ran {
        idem(&self.fixture.url(), arguments)
    }

    /// Runs it on one record.
    pub(crate) fn idem_on(&self, command: &str, name: &str, more: &[&str]) -> Ran {
        let address = [
            "--tenant-id",
            "acme",
            "--user-id",
            "user-7",
            "--route",
            "orders.create",
            "--idempotency-key",
            name,
        ];
        self.idem(&[&[command], &address[..], more].concat())
    }

    /// Claims the record `name`.
    pub(crate) async fn claim(&self, name: &str, terms: Terms) -> FencingToken {
        self.claim_key(record(name), terms).await
    }

    /// Claims the record with that key.
    pub(crate) async fn claim_key(&self, key: RecordKey, terms: Terms) -> FencingToken {
        let claim =
            NewClaim { key, request_hash: hash('a'), request_fields: None, terms, claim_id: Uuid::new_v4() };
        let mut conn = self.pool.acquire().await.unwrap();
        F::S::insert(&mut conn, &claim).await.unwrap().unwrap().record.token
    }

    /// Claims `name` and ends its lease.
    pub(crate) async fn lapse(&self, name: &str, terms: Terms) {
        let token = self.claim(name, terms).await;
        let mut conn = self.pool.acquire().await.unwrap();
        assert!(F::S::end_lease(&mut conn, &record(name), token).await.unwrap());
    }

    /// Claims `name` and succeeds with that body.
    pub(crate) async fn succeed(&self, name: &str, body: &[u8]) {
        let token = self.claim(name, terms(Mode::Transactional, OnLapse::Rerun, false)).await;
        let answer = Answer { body: AnswerBody::Kept(body.to_vec()), ..Answer::json(201, Vec::new()) };
        let bindings =
            Bindings { task_id: Some("task-1".to_owned()), outbox_event_id: Some("event-1".to_owned()) };
        let mut conn = self.pool.acquire().await.unwrap();
        let done = F::S::complete(&mut conn, &record(name), token, &answer, &bindings).await;
        assert!(done.unwrap().is_some());
    }

    /// Claims `name` and fails.
    pub(crate) async fn fail(&self, name: &str, retry_failed: bool, answer: Option<Answer>) {
        let token = self.claim(name, terms(Mode::Transactional, OnLapse::Rerun, retry_failed)).await;
        let mut conn = self.pool.acquire().await.unwrap();
        let done = F::S::fail(&mut conn, &record(name), token, answer.as_ref()).await;
        assert!(done.unwrap().is_some());
    }

    pub(crate) async fn pass(&self, span: Duration) {
        F::pass(&self.pool, span).await;
    }

    pub(crate) async fn execute(&self, sql: &str) {
        F::execute(&mut *self.pool.acquire().await.unwrap(), sql).await.unwrap();
    }

    /// Drops the index that the sweeps read along.
    pub(crate) async fn drop_index(&self) {
        let mysql = <F::S as sqlx::Database>::NAME == "MySQL";
        let table = if mysql { " ON idempotency_records" } else { "" };
        self.execute(&format!("DROP INDEX idempotency_records_sweep_after{table}")).await;
    }

    pub(crate) async fn number(&self, sql: &str) -> i64 {
        F::number(&mut *self.pool.acquire().await.unwrap(), sql).await.unwrap()
    }
}

pub(crate) fn record(name: &str) -> RecordKey {
    RecordKey::new(scope(), Route::new("orders.create").unwrap(), key(name))
}

/// A stored hash of 64 times that digit.
pub(crate) fn hash(digit: char) -> String {
    format!("v1:-:{}", String::from(digit).repeat(64))
}

pub(crate) fn terms(mode: Mode, on_lapse: OnLapse, retry_failed: bool) -> Terms {
    let policy = Policy::new("orders.create").unwrap().on_lapse(on_lapse).retry_failed(retry_failed);
    policy.terms(mode, &Defaults { ttl: LIFE, ..Defaults::default() }).unwrap()
}

/// The terms of most records here.
pub(crate) fn inside() -> Terms {
    terms(Mode::Transactional, OnLapse::Rerun, false)
}

/// Compares with a file; `IDEM_UPDATE_SNAPSHOTS=1` writes it anew. Moments and ages give way to their names.
pub(crate) fn check(name: &str, mut now: Value) {
    still(&mut now);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/operate/snapshots").join(name);
    if std::env::var_os("IDEM_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(now, kept, "{name} has changed:\n{now:#}");
}

fn still(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(still),
        Value::Object(members) => {
            for (name, value) in members {
                let moment = name.ends_with("_at") || name == "locked_until" || name == "now";
                let span = ["age_ms", "unchanged_ms", "left_ms"].iter().any(|end| name.ends_with(end));
                if moment && value.is_string() {
                    *value = "a moment".into();
                } else if span && value.is_i64() {
                    *value = "a span".into();
                } else {
                    still(value);
                }
            }
        }
        _ => {}
    }
}
