//! The client of the demo: sends calls, compares and counts their answers, and asks the database.

use std::collections::HashMap;
use std::fmt;

use idem_runtime::{Error, IdempotencyKey, IdempotencyMutationGuard, RecordKey, Route, Scope, Status};
use uuid::Uuid;

use crate::database::{Rows, ShopDatabase};
use crate::error::DemoError;
use crate::process::Worker;
use crate::protocol::{Answer, Body, Call, Done};
use crate::{orders, payments};

/// What the client has sent and received.
pub(crate) struct Client<D: ShopDatabase> {
    guard: IdempotencyMutationGuard<D>,
    /// New in each run, so that a database can be used again.
    tenant: String,
    /// The records of all calls, each with the first answer that came from it.
    seen: HashMap<RecordKey, Option<Done>>,
    counts: Summary,
}

impl<D: ShopDatabase> Client<D> {
    pub(crate) fn new(guard: IdempotencyMutationGuard<D>) -> Self {
        let tenant = format!("demo-{}", Uuid::new_v4().simple());
        Self { guard, tenant, seen: HashMap::new(), counts: Summary::default() }
    }

    /// A call of this run.
    pub(crate) fn call(&self, key: &str, body: Body) -> Call {
        let (tenant, user) = (self.tenant.clone(), "user-7".to_owned());
        Call { tenant, user, idempotency_key: key.to_owned(), body, stall: false }
    }

    pub(crate) async fn send(&mut self, worker: &mut Worker, call: &Call) -> Result<(), DemoError> {
        self.seen.entry(record_key(call)?).or_default();
        self.counts.requests += 1;
        worker.send(call).await
    }

    /// The answer to `call`, which must be the first answer of its key if it is one of the body.
    pub(crate) async fn receive(&mut self, worker: &mut Worker, call: &Call) -> Result<Answer, DemoError> {
        let answer = worker.receive_answer().await?;
        match &answer {
            Answer::InProgress { .. } => self.counts.in_progress += 1,
            Answer::Conflict => self.counts.conflicts += 1,
            Answer::Failed { .. } => {}
            Answer::Done(done) => {
                self.counts.replayed += u64::from(done.replayed);
                let first = self.seen.entry(record_key(call)?).or_default();
                let first = first.get_or_insert_with(|| done.clone());
                if !done.says_the_same_as(first) {
                    return Err(DemoError::unexpected("an answer unlike the first one", answer));
                }
            }
        }
        Ok(answer)
    }

    pub(crate) async fn ask(&mut self, worker: &mut Worker, call: &Call) -> Result<Answer, DemoError> {
        self.send(worker, call).await?;
        self.receive(worker, call).await
    }

    /// Refuses any other rows of the key of `call`.
    pub(crate) async fn expect_rows(&self, call: &Call, expected: Rows) -> Result<(), DemoError> {
        let rows = D::count_rows(self.guard.pool(), &record_key(call)?).await?;
        if rows == expected { Ok(()) } else { Err(DemoError::unexpected("the rows of a key", rows)) }
    }

    /// Counts in the database what took effect.
    pub(crate) async fn summary(&self) -> Result<Summary, DemoError> {
        let mut summary = self.counts.clone();
        for key in self.seen.keys() {
            let reading = self.guard.read(key).await?;
            if reading.is_some_and(|reading| reading.record.status == Status::Succeeded) {
                summary.executed += 1;
            }
            let rows = D::count_rows(self.guard.pool(), key).await?;
            summary.double_effects += u64::from(rows.are_double());
        }
        Ok(summary)
    }
}

/// The record that `call` is about.
fn record_key(call: &Call) -> Result<RecordKey, Error> {
    let route = match call.body {
        Body::CreateOrder(_) => orders::ROUTE,
        Body::Pay(_) => payments::ROUTE,
    };
    let scope = Scope::new(&call.tenant, &call.user)?;
    Ok(RecordKey::new(scope, Route::new(route)?, IdempotencyKey::new(&call.idempotency_key)?))
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
