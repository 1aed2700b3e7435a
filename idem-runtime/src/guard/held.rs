//! A claim that is ours until it is settled, and what becomes of it when its owner is dropped.

use std::sync::Arc;

use tracing::Instrument;

use crate::guard::Inner;
use crate::guard::claim::Call;
use crate::guard::counted::{self, Ended, InFlight, Statement};
use crate::guard::lane::{Change, Lane, Tries};
use crate::guard::renewal::Renewal;
use crate::guard::settle::Settling;
use crate::mutation::Mutation;
use crate::policy::Mode;
use crate::record::{Answer, Bindings, FencingToken, Reading, Record, Status};
use crate::store::Store;

/// How far the body has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Claimed; nothing of the body has run.
    Claimed,
    /// The body has been polled at least once.
    Running,
    /// Its end is being written, by code that cannot be cancelled.
    Settling,
}

/// An owned record.
///
/// Dropped before it is settled, it leaves the record as section "cancellation" of the docs says: released
/// where nothing can have happened, otherwise with its lease ended, so that `on_lapse` decides.
pub(super) struct Held<S: Store> {
    inner: Arc<Inner<S>>,
    call: Arc<Call>,
    claimed: Reading,
    transaction: Option<Transaction<S>>,
    renewal: Option<Renewal>,
    stage: Stage,
    recovery: bool,
    in_flight: Option<InFlight>,
}

/// The body's transaction and the turn to write under which it runs.
pub(super) struct Transaction<S: Store> {
    pub(super) mutation: Mutation<S>,
    pub(super) lane: Lane<S>,
}

impl<S: Store> Held<S> {
    pub(super) fn new(inner: Arc<Inner<S>>, call: Arc<Call>, claimed: Reading, recovery: bool) -> Self {
        let in_flight = Some(InFlight::new(call.claim.key.route()));
        let stage = Stage::Claimed;
        Self { inner, call, claimed, transaction: None, renewal: None, stage, recovery, in_flight }
    }

    pub(super) fn set_transaction(&mut self, mutation: Mutation<S>, lane: Lane<S>) {
        self.transaction = Some(Transaction { mutation, lane });
    }

    pub(super) fn token(&self) -> FencingToken {
        self.claimed.record.token
    }

    /// Whether an earlier attempt may have taken effect outside, so that the provider must be asked first.
    pub(super) fn is_recovery(&self) -> bool {
        self.recovery
    }

    /// The record as it was when it became ours.
    pub(super) fn record(&self) -> &Record {
        &self.claimed.record
    }

    /// Marks the body as begun and starts to renew the lease; the transaction's handle, if it has one.
    pub(super) fn start(&mut self) -> Option<&mut Mutation<S>> {
        self.stage = Stage::Running;
        self.renewal = Renewal::start(&self.inner, &self.call.claim, &self.claimed);
        self.transaction.as_mut().map(|transaction| &mut transaction.mutation)
    }

    /// The answer of this attempt as it is stored; `Err` says why it cannot be.
    pub(super) fn to_store(&self, status: Status, answer: Answer) -> Result<Answer, String> {
        self.inner.to_store(self.record(), status, answer)
    }

    /// What the body has bound through its transaction.
    pub(super) fn bindings(&self) -> Bindings {
        self.transaction.as_ref().map(|open| open.mutation.bindings().clone()).unwrap_or_default()
    }

    /// From here on the end is being written, by code that cannot be cancelled.
    pub(super) fn settle(mut self) -> (Settling<S>, Option<Transaction<S>>) {
        self.stage = Stage::Settling;
        let settling = Settling {
            inner: Arc::clone(&self.inner),
            call: Arc::clone(&self.call),
            token: self.token(),
            renewal: self.renewal.take(),
            _in_flight: self.in_flight.take(),
        };
        (settling, self.transaction.take())
    }
}

impl<S: Store> Drop for Held<S> {
    fn drop(&mut self) {
        if self.stage == Stage::Settling {
            return;
        }
        // Nothing can have happened outside before the body began, unless by the attempt that this one took over
        // from, or once its transaction is rolled back.
        let change = match self.call.claim.terms.mode {
            Mode::External if self.stage == Stage::Running || self.recovery => Change::EndLease,
            _ => Change::Release,
        };
        // Without a runtime the connection closes, the database rolls back and the lease lapses.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let (inner, call, token) = (Arc::clone(&self.inner), Arc::clone(&self.call), self.token());
        let transaction = self.transaction.take();
        let renewal = self.renewal.take();
        let cleanup = async move {
            if let Some(renewal) = renewal {
                renewal.stop().await;
            }
            abandon(&inner, &call, token, transaction, change).await;
        };
        self.inner.tasks.spawn_on(cleanup.in_current_span(), &runtime);
    }
}

async fn abandon<S: Store>(
    inner: &Inner<S>,
    call: &Call,
    token: FencingToken,
    transaction: Option<Transaction<S>>,
    change: Change,
) {
    let lane = match transaction {
        None => inner.lane().await,
        Some(Transaction { mut mutation, mut lane }) => {
            // A rollback that fails closes the connection, which rolls back as well.
            let _ = inner.timed(Statement::Rollback, mutation.rollback()).await;
            lane.put(mutation.into_connection());
            Ok(lane)
        }
    };
    let key = &call.claim.key;
    let written = match lane {
        Ok(mut lane) => lane.write(inner, key, token, &change, Tries::few()).await.map(|_| ()),
        Err(error) => {
            counted::attempt(key.route(), Ended::Unwritten);
            Err(error)
        }
    };
    if let Err(error) = written {
        tracing::warn!(%error, "an abandoned claim could not be given back; its lease will lapse");
    }
    inner.waiters.finished(key);
}
