//! Writes what came of a body; a caller who leaves cannot interrupt it half-way.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::Instrument;

use crate::error::Error;
use crate::guard::claim::Call;
use crate::guard::counted::{self, Ended, InFlight, Statement};
use crate::guard::held::{Held, Transaction};
use crate::guard::lane::{Change, Lane, Tries, Written};
use crate::guard::renewal::Renewal;
use crate::guard::uninterrupted::Uninterrupted;
use crate::guard::{Inner, unavailable};
use crate::key::RecordKey;
use crate::mutation::Mutation;
use crate::policy::Mode;
use crate::record::{Answer, Bindings, FencingToken, Reading, Record, Status, Timestamp};
use crate::store::{Completion, Fault, Store, StoreResult};

/// What came of a body, without its value.
#[derive(Debug)]
pub(super) enum Ending {
    Succeeded(Answer, Bindings),
    Failed(Option<Answer>),
    Released,
    /// An effect outside happened whose answer cannot be kept.
    Unknown,
}

/// How the record ended.
#[derive(Debug)]
pub(super) enum Settled {
    /// As the body said; with the end of the record's life.
    Written(Option<Timestamp>),
    /// Another attempt had taken over and finished: its answer is the answer.
    Superseded(Box<Record>),
}

/// An attempt whose end is being written. It has no `Drop`: whoever holds it sees it through.
pub(super) struct Settling<S: Store> {
    pub(super) inner: Arc<Inner<S>>,
    pub(super) call: Arc<Call>,
    pub(super) token: FencingToken,
    pub(super) renewal: Option<Renewal>,
    pub(super) _in_flight: Option<InFlight>,
}

impl<S: Store> Held<S> {
    /// Writes `ending`; an error means that the caller must not give the body's answer away.
    pub(super) async fn end(self: Box<Self>, ending: Ending) -> Result<Settled, Error> {
        let (mut settling, transaction) = self.settle();
        let (inner, call) = (Arc::clone(&settling.inner), Arc::clone(&settling.call));
        let task = async move {
            let settled = match transaction {
                Some(transaction) => settling.end_transaction(transaction, ending).await,
                None => settling.end_external(ending).await,
            };
            settling.inner.waiters.finished(settling.key());
            settled
        };
        match Uninterrupted::new(&inner.tasks, task.in_current_span()).await {
            // Said of a lost claim alone, whose caller is a duplicate from here on.
            Err(refusal @ Error::InProgress { .. }) => {
                inner.outlast_successor(&call, refusal).await.map(Settled::Superseded)
            }
            settled => settled,
        }
    }
}

impl<S: Store> Settling<S> {
    fn key(&self) -> &RecordKey {
        &self.call.claim.key
    }

    async fn end_transaction(
        &mut self,
        mut transaction: Transaction<S>,
        ending: Ending,
    ) -> Result<Settled, Error> {
        match ending {
            Ending::Succeeded(answer, bindings) => {
                let published = transaction.mutation.take_published();
                let settled = self.commit(transaction, &answer, &bindings).await;
                if matches!(settled, Ok(Settled::Written(_))) {
                    self.inner.announce(published);
                }
                settled
            }
            Ending::Failed(answer) => self.roll_back(transaction, Change::Fail(answer)).await,
            Ending::Released => self.roll_back(transaction, Change::Release).await,
            Ending::Unknown => self.roll_back(transaction, Change::MarkUnknown).await,
        }
    }

    async fn commit(
        &mut self,
        Transaction { mut mutation, mut lane }: Transaction<S>,
        answer: &Answer,
        bindings: &Bindings,
    ) -> Result<Settled, Error> {
        let inner = Arc::clone(&self.inner);
        let (key, token) = (self.key().clone(), self.token);
        let completion = if mutation.is_open() {
            let completing = S::complete_in_transaction(&mut mutation, &key, token, answer, bindings);
            inner.timed(Statement::Complete, completing).await
        } else {
            Ok(Completion::Ended)
        };
        // Dropped here, a completion that is not committed is rolled back with the connection.
        let (change, refusal) = match completion {
            Ok(Completion::Done { expires_at }) => {
                self.renewal = None;
                let Err(error) = inner.timed(Statement::Commit, mutation.commit()).await else {
                    counted::attempt(key.route(), Ended::Succeeded);
                    return Ok(Settled::Written(Some(expires_at)));
                };
                if S::classify(&error) == Fault::Unknown {
                    tracing::warn!(%error, "the reply to a commit was lost; reading back");
                    drop(mutation);
                    return self.read_back(lane).await;
                }
                (Change::Release, Error::StoreUnavailable(Some(Box::new(error))))
            }
            Ok(Completion::Lost) => {
                counted::attempt(key.route(), Ended::Lost);
                self.close_transaction(&mut lane, mutation).await;
                return self.superseded(lane).await;
            }
            Ok(Completion::Ended) => (Change::MarkUnknown, Error::TransactionEnded),
            Err(error) if S::classify(&error) == Fault::Aborted => {
                (Change::Fail(None), Error::TransactionAborted)
            }
            // Without a COMMIT nothing was kept, whatever happened to the connection.
            Err(error) => (Change::Release, Error::StoreUnavailable(Some(Box::new(error)))),
        };
        self.close_transaction(&mut lane, mutation).await;
        self.write_best(&mut lane, &change).await;
        tracing::warn!(error = %refusal, route = %key.route(), "a completion was refused");
        Err(refusal)
    }

    async fn roll_back(
        &mut self,
        Transaction { mut mutation, mut lane }: Transaction<S>,
        change: Change,
    ) -> Result<Settled, Error> {
        let inner = Arc::clone(&self.inner);
        // A connection that does not answer has taken its transaction with it.
        let intact = mutation.is_open()
            && inner.timed(Statement::Check, S::is_intact(&mut mutation, self.token)).await.unwrap_or(true);
        self.close_transaction(&mut lane, mutation).await;
        if !intact {
            self.write_best(&mut lane, &Change::MarkUnknown).await;
            return Err(Error::TransactionEnded);
        }
        self.write_or_yield(lane, &change, Tries::few()).await
    }

    async fn end_external(&mut self, ending: Ending) -> Result<Settled, Error> {
        let inner = Arc::clone(&self.inner);
        let lane = inner.lane().await.unwrap_or_default();
        match ending {
            Ending::Succeeded(answer, bindings) => {
                let change = Change::Complete(answer, bindings);
                let writing = self.write_or_yield(lane, &change, Tries::many());
                // What happened outside must be written: the renewal goes on, and so do we.
                let written = tokio::time::timeout(self.call.claim.terms.max_run, writing).await;
                if written.is_err() {
                    counted::attempt(self.key().route(), Ended::Unwritten);
                }
                if let Some(renewal) = self.renewal.take() {
                    renewal.stop().await;
                }
                match written {
                    Ok(Err(Error::StoreUnavailable(_) | Error::Lost)) | Err(_) => Err(Error::OutcomeUnknown),
                    Ok(settled) => settled,
                }
            }
            Ending::Failed(answer) => self.write_or_yield(lane, &Change::Fail(answer), Tries::few()).await,
            Ending::Released => self.write_or_yield(lane, &Change::Release, Tries::few()).await,
            Ending::Unknown => self.write_or_yield(lane, &Change::MarkUnknown, Tries::few()).await,
        }
    }

    /// Rolls back and keeps the connection if that went well; otherwise it is closed, which rolls back too.
    async fn close_transaction(&self, lane: &mut Lane<S>, mut mutation: Mutation<S>) {
        let _ = self.inner.timed(Statement::Rollback, mutation.rollback()).await;
        lane.put(mutation.into_connection());
    }

    /// Writes `change`, or gives what the record says when the claim was lost.
    async fn write_or_yield(
        &self,
        mut lane: Lane<S>,
        change: &Change,
        tries: Tries,
    ) -> Result<Settled, Error> {
        let key = self.key();
        match lane.write(&self.inner, key, self.token, change, tries).await {
            Ok(Written::Done(end)) => Ok(Settled::Written(end)),
            Ok(Written::Lost) => self.superseded(lane).await,
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Writes `change` if it can: the caller gets its error either way, and the lease is the safety net.
    async fn write_best(&self, lane: &mut Lane<S>, change: &Change) {
        let key = self.key();
        if let Err(error) = lane.write(&self.inner, key, self.token, change, Tries::few()).await {
            tracing::warn!(%error, "a claim could not be settled; its lease will lapse");
        }
    }

    /// The claim was lost: the caller gets what the record says now, and does not claim once more.
    async fn superseded(&self, mut lane: Lane<S>) -> Result<Settled, Error> {
        let reading = self.reading(&mut lane).await.map_err(unavailable)?;
        let Some(reading) = reading else {
            if self.call.claim.terms.mode == Mode::External {
                tracing::error!(
                    "the record of an effect outside is gone: the database lost it, or somebody did"
                );
            }
            return Err(Error::Lost);
        };
        let decision = self.inner.judge(&self.call, &reading);
        self.inner.refuse_or_replay(&self.call, decision, reading).map(Settled::Superseded)
    }

    async fn reading(&self, lane: &mut Lane<S>) -> StoreResult<Option<Reading>> {
        let key = self.key();
        let mut tries = Tries::few();
        loop {
            match lane.read(&self.inner, key).await {
                Err(_) if tries.again().await => {}
                reading => return reading,
            }
        }
    }

    /// Settles a COMMIT whose reply was lost, by a read that waits until its transaction has ended.
    async fn read_back(&self, mut lane: Lane<S>) -> Result<Settled, Error> {
        let (inner, key) = (&self.inner, self.key());
        let (mut tries, deadline) = (Tries::few(), Instant::now() + inner.patience);
        let reading = loop {
            let reading = match lane.connection(inner).await {
                // Less than our own patience, so that the server gives up first and keeps no waiting session.
                Ok(connection) => {
                    let settled = S::read_settled(connection, key, inner.patience / 2);
                    inner.timed(Statement::ReadBack, settled).await
                }
                Err(error) => Err(error),
            };
            match reading {
                Ok(reading) => break reading,
                Err(error) => {
                    lane.doubt(&error);
                    let late = S::classify(&error) == Fault::Locked || Instant::now() >= deadline;
                    if late || !tries.again().await {
                        counted::attempt(key.route(), Ended::Unwritten);
                        return Err(Error::CommitUnknown);
                    }
                }
            }
        };
        match reading {
            // An expired record no longer says whether it had succeeded.
            Some(Reading { record, .. })
                if record.token == self.token && record.status != Status::Expired =>
            {
                if record.status == Status::Succeeded {
                    counted::attempt(key.route(), Ended::Succeeded);
                    return Ok(Settled::Written(Some(record.expires_at)));
                }
                // The transaction has ended and the row is as we claimed it: nothing was kept.
                self.write_best(&mut lane, &Change::Release).await;
                Err(Error::StoreUnavailable(None))
            }
            _ => {
                counted::attempt(key.route(), Ended::Lost);
                self.superseded(lane).await
            }
        }
    }
}
