//! The client of the demo: sends requests, compares and counts their answers, and asks the database.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client as Connections;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use idem_runtime::{Error, IdempotencyKey, IdempotencyMutationGuard, RecordKey, Route, Scope, Status};
use uuid::Uuid;

use crate::database::{Rows, ShopDatabase};
use crate::error::DemoError;

const USER: &str = "ada";

/// One request of the demo; sent again it is the same.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) path: &'static str,
    pub(crate) route: &'static str,
    pub(crate) key: &'static str,
    pub(crate) json: String,
    pub(crate) stall: bool,
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) replayed: bool,
    pub(crate) body: Bytes,
}

impl Answer {
    /// A member of the JSON body.
    pub(crate) fn member(&self, name: &str) -> String {
        let json: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        json[name].as_str().unwrap_or("?").chars().take(8).collect()
    }

    /// The code of a refusal by the guard.
    pub(crate) fn is(&self, code: &str) -> bool {
        let json: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        json["code"] == code
    }
}

/// What the client has sent and received.
pub(crate) struct Client<D: ShopDatabase> {
    guard: IdempotencyMutationGuard<D>,
    connections: Connections<HttpConnector, Body>,
    /// New in each run, so that a database can be used again.
    tenant: String,
    /// The first successful answer of each key.
    seen: Mutex<HashMap<RecordKey, Option<Bytes>>>,
    counts: Mutex<Summary>,
}

impl<D: ShopDatabase> Client<D> {
    pub(crate) fn new(guard: IdempotencyMutationGuard<D>) -> Self {
        let tenant = format!("demo-{}", Uuid::new_v4().simple());
        let connections = Connections::builder(TokioExecutor::new()).build_http();
        Self { guard, connections, tenant, seen: Mutex::default(), counts: Mutex::default() }
    }

    /// Sends a request; an answer of the body must be the first of its key, byte for byte.
    pub(crate) async fn send(&self, authority: &str, call: &Call) -> Result<Answer, DemoError> {
        let key = self.record_key(call)?;
        lock(&self.seen).entry(key.clone()).or_default();
        lock(&self.counts).requests += 1;
        let mut request = Request::post(format!("http://{authority}{}", call.path))
            .header("x-tenant", &self.tenant)
            .header("x-user", USER)
            .header("idempotency-key", call.key)
            .header("content-type", "application/json");
        if call.stall {
            request = request.header("x-stall", "1");
        }
        let response = self.connections.request(request.body(Body::from(call.json.clone()))?).await?;
        let (head, body) = response.into_parts();
        let replayed = head.headers.contains_key("idempotent-replayed");
        let answer = Answer { status: head.status, replayed, body: body.collect().await?.to_bytes() };
        let mut counts = lock(&self.counts);
        counts.replayed += u64::from(answer.replayed);
        counts.in_progress += u64::from(answer.is("IDEMPOTENCY_IN_PROGRESS"));
        counts.conflicts += u64::from(answer.is("IDEMPOTENCY_KEY_CONFLICT"));
        if answer.status.is_success() {
            let mut seen = lock(&self.seen);
            let first = seen.entry(key).or_default().get_or_insert_with(|| answer.body.clone());
            if *first != answer.body {
                return Err(DemoError::unexpected("an answer unlike the first one", &answer));
            }
        }
        Ok(answer)
    }

    /// Refuses any other rows of the key of `call`.
    pub(crate) async fn expect_rows(&self, call: &Call, expected: Rows) -> Result<(), DemoError> {
        let rows = D::count_rows(self.guard.pool(), &self.record_key(call)?).await?;
        if rows == expected { Ok(()) } else { Err(DemoError::unexpected("the rows of a key", rows)) }
    }

    /// The attempt that the record of `call` has come to.
    pub(crate) async fn attempt(&self, call: &Call) -> Result<i64, DemoError> {
        let reading = self.guard.read(&self.record_key(call)?).await?;
        Ok(reading.map_or(0, |reading| reading.record.token.attempt))
    }

    /// Counts in the database what took effect.
    pub(crate) async fn summary(&self) -> Result<Summary, DemoError> {
        let mut summary = lock(&self.counts).clone();
        let keys: Vec<RecordKey> = lock(&self.seen).keys().cloned().collect();
        for key in keys {
            let reading = self.guard.read(&key).await?;
            if reading.is_some_and(|reading| reading.record.status == Status::Succeeded) {
                summary.executed += 1;
            }
            summary.double_effects += u64::from(D::count_rows(self.guard.pool(), &key).await?.are_double());
        }
        Ok(summary)
    }

    /// The record that `call` is about.
    fn record_key(&self, call: &Call) -> Result<RecordKey, Error> {
        let scope = Scope::new(&self.tenant, USER)?;
        Ok(RecordKey::new(scope, Route::new(call.route)?, IdempotencyKey::new(call.key)?))
    }
}

/// What is locked here stays whole whoever panics while holding it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last line of the demo.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    requests: u64,
    /// Bodies that took effect, counted in the database.
    executed: u64,
    replayed: u64,
    in_progress: u64,
    conflicts: u64,
    /// Keys with more than one order, task or charge, counted in the database.
    double_effects: u64,
}

impl Summary {
    pub(crate) fn verdict(&self) -> Result<(), DemoError> {
        if self.double_effects == 0 { Ok(()) } else { Err(DemoError::DoubleEffects) }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, executed, replayed, in_progress, conflicts, double_effects } = self;
        write!(
            f,
            "demo: requests={requests} executed={executed} replayed={replayed} \
             in_progress={in_progress} conflicts={conflicts} double_effects={double_effects}"
        )
    }
}
