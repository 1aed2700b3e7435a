//! How a statement of ours gets its connection, its turn and its end.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use tokio::sync::OwnedSemaphorePermit;

use crate::guard::Inner;
use crate::guard::counted::{self, Ended, Failure, Statement};
use crate::key::RecordKey;
use crate::record::{Answer, Bindings, FencingToken, Reading, Status, Timestamp};
use crate::store::{ConnectionOf, Fault, Store, StoreResult};

/// A turn to write, where writers take turns, and a connection once one was needed.
pub(crate) struct Lane<S: Store> {
    connection: Option<PoolConnection<S>>,
    _turn: Option<OwnedSemaphorePermit>,
}

/// A lane without a turn: for what must be tried although the turn did not come.
impl<S: Store> Default for Lane<S> {
    fn default() -> Self {
        Self { connection: None, _turn: None }
    }
}

/// A fenced change of a record outside the body's transaction.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Complete(Answer, Bindings),
    Fail(Option<Answer>),
    Release,
    Renew(Duration),
    EndLease,
    MarkUnknown,
    Bind(Bindings),
    KeepSteps(String),
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// The row was ours and has changed; with the moment that the change sets, if it sets one.
    Done(Option<Timestamp>),
    /// No row has this token in a fitting state.
    Lost,
}

impl Change {
    /// What it is to the statistics of the store.
    fn statement(&self) -> Statement {
        match self {
            Self::Complete(..) => Statement::Complete,
            Self::Fail(_) => Statement::Fail,
            Self::Release => Statement::Release,
            Self::Renew(_) => Statement::Renew,
            Self::EndLease => Statement::EndLease,
            Self::MarkUnknown => Statement::MarkUnknown,
            Self::Bind(_) => Statement::Bind,
            Self::KeepSteps(_) => Statement::KeepSteps,
        }
    }

    /// How it ends an attempt, if it ends one.
    fn ending(&self) -> Option<Ended> {
        match self {
            Self::Complete(..) => Some(Ended::Succeeded),
            Self::Fail(_) => Some(Ended::Failed),
            Self::Release => Some(Ended::Released),
            Self::EndLease => Some(Ended::Abandoned),
            Self::MarkUnknown => Some(Ended::Unknown),
            Self::Renew(_) | Self::Bind(_) | Self::KeepSteps(_) => None,
        }
    }

    /// The status of a record that this change has ended, if it ends one.
    fn settles_as(&self) -> Option<Status> {
        match self {
            Self::Complete(..) => Some(Status::Succeeded),
            Self::Fail(_) => Some(Status::Failed),
            Self::Release
            | Self::Renew(_)
            | Self::EndLease
            | Self::MarkUnknown
            | Self::Bind(_)
            | Self::KeepSteps(_) => None,
        }
    }

    async fn apply<S: Store>(
        &self,
        connection: &mut ConnectionOf<S>,
        key: &RecordKey,
        token: FencingToken,
    ) -> StoreResult<Written> {
        let moment = |end: Option<Timestamp>| match end {
            Some(end) => Written::Done(Some(end)),
            None => Written::Lost,
        };
        let touched = |ours: bool| if ours { Written::Done(None) } else { Written::Lost };
        Ok(match self {
            Self::Complete(answer, bindings) => {
                moment(S::complete(connection, key, token, answer, bindings).await?)
            }
            Self::Fail(answer) => moment(S::fail(connection, key, token, answer.as_ref()).await?),
            Self::Renew(lease) => moment(S::renew(connection, key, token, *lease).await?),
            Self::Release => touched(S::release(connection, key, token, None).await?),
            Self::EndLease => touched(S::end_lease(connection, key, token).await?),
            Self::MarkUnknown => touched(S::mark_unknown(connection, key, token).await?),
            Self::KeepSteps(steps) => touched(S::keep_steps(connection, key, token, steps).await?),
            Self::Bind(bindings) => touched(S::bind(connection, key, token, bindings).await?),
        })
    }
}

/// How often and how long a statement of ours is tried again, with growing pauses that differ by chance.
pub(super) struct Tries {
    left: u32,
    pause: Duration,
}

impl Tries {
    /// One try: for what is repeated later anyway.
    pub(super) fn once() -> Self {
        Self { left: 0, pause: Duration::ZERO }
    }

    /// A little under a second in all: for callers that wait.
    pub(super) fn few() -> Self {
        Self { left: 8, pause: Duration::from_millis(4) }
    }

    /// Without an end of its own: the caller has one.
    pub(super) fn many() -> Self {
        Self { left: u32::MAX, pause: Duration::from_millis(4) }
    }

    /// Pauses before the next try; `false` when there is none.
    pub(super) async fn again(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        tokio::time::sleep(self.pause.mul_f64(0.5 + fastrand::f64())).await;
        self.pause = (self.pause * 2).min(Duration::from_millis(300));
        true
    }
}

/// The error of a statement that did not end in time.
fn timed_out() -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the statement took too long"))
}

/// How a statement failed, if it did.
fn failure<S: Store, T>(done: &StoreResult<T>) -> Option<Failure> {
    match done {
        Ok(_) => None,
        Err(sqlx::Error::PoolTimedOut) => Some(Failure::Timeout),
        Err(error) => Some(Failure::Fault(S::classify(error))),
    }
}

impl<S: Store> Inner<S> {
    /// The result of a statement of ours, or a time-out; then the connection must be closed.
    pub(crate) async fn timed<T>(
        &self,
        statement: Statement,
        work: impl Future<Output = StoreResult<T>>,
    ) -> StoreResult<T> {
        let begin = Instant::now();
        let done = tokio::time::timeout(self.patience, work).await;
        let failed = done.as_ref().map_or(Some(Failure::Timeout), failure::<S, _>);
        statement.took(begin.elapsed(), failed);
        done.unwrap_or_else(|_| Err(timed_out()))
    }

    /// The same for a statement of the outbox.
    pub(crate) async fn within<T>(&self, work: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
        self.timed(Statement::Outbox, work).await
    }

    /// A connection of the pool, for which we wait as long as for a statement.
    pub(crate) async fn connection(&self) -> StoreResult<PoolConnection<S>> {
        let begin = Instant::now();
        let acquired = tokio::time::timeout(self.patience, self.pool.acquire()).await;
        let connection = acquired.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        Statement::Acquire.took(begin.elapsed(), failure::<S, _>(&connection));
        connection
    }

    /// Waits for the turn to write; on most databases that is at once.
    pub(crate) async fn lane(&self) -> StoreResult<Lane<S>> {
        let turn = match &self.turns {
            None => None,
            Some(turns) => {
                let begin = Instant::now();
                let turn = Arc::clone(turns).acquire_owned();
                let turn = match tokio::time::timeout(self.patience, turn).await {
                    Ok(Ok(turn)) => Ok(turn),
                    Ok(Err(_)) | Err(_) => Err(sqlx::Error::PoolTimedOut),
                };
                Statement::Turn.took(begin.elapsed(), failure::<S, _>(&turn));
                Some(turn?)
            }
        };
        Ok(Lane { connection: None, _turn: turn })
    }
}

impl<S: Store> Lane<S> {
    /// The lane's connection, taken from the pool when there is none.
    pub(crate) async fn connection(&mut self, inner: &Inner<S>) -> StoreResult<&mut PoolConnection<S>> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => inner.connection().await?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Takes the connection out, for a transaction.
    pub(super) fn take(&mut self) -> Option<PoolConnection<S>> {
        self.connection.take()
    }

    /// Puts a connection back whose transaction has ended.
    pub(super) fn put(&mut self, connection: Option<PoolConnection<S>>) {
        self.connection = connection;
    }

    /// Closes the connection when `error` leaves its state in doubt.
    pub(crate) fn doubt(&mut self, error: &sqlx::Error) {
        if S::classify(error) == Fault::Unknown
            && let Some(mut connection) = self.connection.take()
        {
            connection.close_on_drop();
        }
    }

    /// The record, as far as it is committed.
    pub(super) async fn read(&mut self, inner: &Inner<S>, key: &RecordKey) -> StoreResult<Option<Reading>> {
        let connection = self.connection(inner).await?;
        let read = inner.timed(Statement::Read, S::read(connection, key)).await;
        if let Err(error) = &read {
            self.doubt(error);
        }
        read
    }

    /// Carries out one fenced change, again after faults that pass.
    ///
    /// When a reply was lost, the repeated change may find its own work done; then the record is read, and
    /// a row that has our token and the wanted status is ours.
    pub(super) async fn write(
        &mut self,
        inner: &Inner<S>,
        key: &RecordKey,
        token: FencingToken,
        change: &Change,
        tries: Tries,
    ) -> StoreResult<Written> {
        let written = self.write_again(inner, key, token, change, tries).await;
        if let Some(ending) = change.ending() {
            counted::attempt(
                key.route(),
                match written {
                    Ok(Written::Done(_)) => ending,
                    Ok(Written::Lost) => Ended::Lost,
                    Err(_) => Ended::Unwritten,
                },
            );
        }
        written
    }

    async fn write_again(
        &mut self,
        inner: &Inner<S>,
        key: &RecordKey,
        token: FencingToken,
        change: &Change,
        mut tries: Tries,
    ) -> StoreResult<Written> {
        let mut reply_lost = false;
        loop {
            let result = self.write_once(inner, key, token, change, reply_lost).await;
            let Err(error) = result else { return result };
            self.doubt(&error);
            reply_lost |= S::classify(&error) == Fault::Unknown;
            let passing = matches!(error, sqlx::Error::PoolTimedOut)
                || matches!(S::classify(&error), Fault::Again | Fault::Locked | Fault::Unknown);
            if !passing || !tries.again().await {
                return Err(error);
            }
        }
    }

    async fn write_once(
        &mut self,
        inner: &Inner<S>,
        key: &RecordKey,
        token: FencingToken,
        change: &Change,
        reply_lost: bool,
    ) -> StoreResult<Written> {
        let connection = self.connection(inner).await?;
        let written = inner.timed(change.statement(), change.apply::<S>(connection, key, token)).await?;
        let (Written::Lost, true, Some(status)) = (written, reply_lost, change.settles_as()) else {
            return Ok(written);
        };
        let reading = inner.timed(Statement::Read, S::read(connection, key)).await?;
        Ok(match reading {
            Some(reading) if reading.record.token == token && reading.record.status == status => {
                Written::Done(Some(reading.record.expires_at))
            }
            _ => Written::Lost,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_statement_is_tried_again_eight_times_and_what_is_repeated_anyway_not_once() {
        assert!(!Tries::once().again().await);
        let mut tries = Tries::few();
        for _ in 0..8 {
            assert!(tries.again().await);
        }
        assert!(!tries.again().await);
    }
}
