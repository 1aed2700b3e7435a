//! Runs a body that something else fences: whoever delivers an event holds it, and nobody else delivers it meanwhile.
//!
//! There is no claim to commit before the body. Its record is inserted as succeeded, in the body's own transaction and
//! together with the event's mark, or rolled back with both. Only what did not succeed is claimed and recorded
//! afterwards, as any other attempt.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use tracing::Instrument;

use crate::error::Error;
use crate::guard::claim::Call;
use crate::guard::counted::{self, Ended, InFlight, Statement};
use crate::guard::engine::{Ran, Verdict, conclude, unless_refused};
use crate::guard::held::{Held, Transaction};
use crate::guard::nesting::{self, Frame};
use crate::guard::obtain::Obtained;
use crate::guard::settle::Ending;
use crate::guard::uninterrupted::Uninterrupted;
use crate::guard::{Inner, unavailable};
use crate::mutation::Mutation;
use crate::record::{Answer, Bindings, FencingToken, Record, Status, Timestamp};
use crate::store::{EventMark, EventToken, Fault, Outbox, Settled, Settlement};

/// What fences a delivery, and how it ends.
pub(crate) struct Fence {
    pub(crate) event: EventToken,
    pub(crate) mark: EventMark,
    /// The database's time when the event was taken.
    pub(crate) since: Timestamp,
}

/// Runs `body` at most once, in a transaction that commits together with the record and the event's mark.
///
/// The future is `Send` for the same reason as that of `run_in_transaction`.
pub(super) async fn run<S: Outbox, R, T, E>(
    inner: Arc<Inner<S>>,
    call: Call,
    fence: Fence,
    body: impl AsyncFnOnce(&mut Mutation<S>) -> R,
    judge: impl FnOnce(R) -> Verdict<T, E>,
) -> Result<Ran<T, E>, Error> {
    let frame = nesting::enter(inner.id, &inner.tally, &call.claim.key, call.claim.terms.mode)?;
    let span = frame.span.clone();
    fenced(frame, inner, call, fence, body, judge).instrument(span).await
}

async fn fenced<S: Outbox, R, T, E>(
    frame: Arc<Frame>,
    inner: Arc<Inner<S>>,
    call: Call,
    fence: Fence,
    body: impl AsyncFnOnce(&mut Mutation<S>) -> R,
    judge: impl FnOnce(R) -> Verdict<T, E>,
) -> Result<Ran<T, E>, Error> {
    let delivery = Arc::new(Delivery { inner, call, fence });
    let opening = Arc::clone(&delivery).open().in_current_span();
    let mut open = match Uninterrupted::new(&delivery.inner.tasks, opening).await {
        Ok(open) => open,
        Err(error) => return frame.reported(Err(error)),
    };
    frame.span.record("attempt", 1);
    let (begin, route) = (Instant::now(), delivery.call.claim.key.route());
    let _in_flight = InFlight::new(route);
    // Dropped while the body runs, the connection is closed, which rolls back.
    let running = nesting::within(Arc::clone(&frame), body(&mut open.mutation));
    let result = AssertUnwindSafe(running).catch_unwind().await;
    let verdict = result.map(|result| unless_refused(&frame, judge(result)));
    counted::body(route, &verdict, begin.elapsed());
    frame.reported(delivery.end(open, verdict).await)
}

/// One delivery.
struct Delivery<S: Outbox> {
    inner: Arc<Inner<S>>,
    call: Call,
    fence: Fence,
}

/// How the transaction of a success ended.
enum End {
    Committed,
    /// There is a record, which says what becomes of this delivery.
    Met,
    /// The attempt is recorded so, and its caller gets the error.
    Recorded(Ending, Error),
    /// Nothing is kept.
    Refused(Error),
}

impl<S: Outbox> Delivery<S> {
    /// The attempt as its record would have it, had it been claimed.
    fn record(&self) -> Record {
        let (since, terms) = (self.fence.since, &self.call.claim.terms);
        self.call.claim.begun(since.plus(terms.lease), since.plus(terms.ttl), since).record
    }

    fn token(&self) -> FencingToken {
        FencingToken { attempt: 1, claim_id: self.call.claim.claim_id }
    }

    async fn open(self: Arc<Self>) -> Result<Transaction<S>, Error> {
        let inner = &self.inner;
        let mut lane = inner.lane().await.map_err(unavailable)?;
        lane.connection(inner).await.map_err(unavailable)?;
        let Some(connection) = lane.take() else { return Err(Error::StoreUnavailable(None)) };
        let begin = Mutation::begin(connection, Box::new(self.record()), inner.publishing.clone());
        let mutation = inner.timed(Statement::Begin, begin).await.map_err(unavailable)?;
        Ok(Transaction { mutation, lane })
    }

    async fn end<T, E>(
        self: &Arc<Self>,
        open: Transaction<S>,
        verdict: std::thread::Result<Verdict<T, E>>,
    ) -> Result<Ran<T, E>, Error> {
        let bound = open.mutation.bindings().clone();
        let verdict = match verdict {
            Ok(Verdict::Succeeded { value, answer, bindings }) => {
                let bindings = Bindings {
                    task_id: bindings.task_id.or(bound.task_id),
                    outbox_event_id: bindings.outbox_event_id.or(bound.outbox_event_id),
                };
                let inner = &self.inner;
                let stored =
                    bindings.check().and_then(|()| inner.to_store(&self.record(), Status::Succeeded, answer));
                match stored {
                    Ok(answer) => return self.succeed(open, value, answer, bindings).await,
                    Err(reason) => Ok(Verdict::NotRecordable { reason }),
                }
            }
            verdict => verdict,
        };
        let rolling_back = Arc::clone(self).roll_back(open).in_current_span();
        let intact = Uninterrupted::new(&self.inner.tasks, rolling_back).await;
        match verdict {
            _ if !intact => self.record_as(Ending::Unknown, Error::TransactionEnded).await,
            Ok(Verdict::Released { error }) => {
                counted::attempt(self.call.claim.key.route(), Ended::Released);
                Ok(Ran::Failed { error, expires_at: None })
            }
            verdict => match self.inner.obtain(self.call.clone()).await? {
                Obtained::Held(held, _place) => {
                    conclude(held, Bindings::default(), verdict, Ending::Failed(None)).await
                }
                Obtained::Recorded(record) => Ok(Ran::Recorded(record)),
            },
        }
    }

    async fn succeed<T, E>(
        self: &Arc<Self>,
        open: Transaction<S>,
        value: T,
        answer: Answer,
        bindings: Bindings,
    ) -> Result<Ran<T, E>, Error> {
        let committing = Arc::clone(self).commit(open, answer, bindings.clone()).in_current_span();
        match Uninterrupted::new(&self.inner.tasks, committing).await {
            End::Committed => Ok(Ran::First { value, attempt: 1, expires_at: None, bindings }),
            End::Met => match self.inner.obtain(self.call.clone()).await? {
                Obtained::Recorded(record) => Ok(Ran::Recorded(record)),
                // It can be claimed, and is given back for the next delivery, which begins with that.
                Obtained::Held(..) => Err(Error::Lost),
            },
            End::Recorded(ending, error) => self.record_as(ending, error).await,
            End::Refused(error) => Err(error),
        }
    }

    /// Marks, records and commits; a transaction that is dropped here is rolled back.
    async fn commit(self: Arc<Self>, mut open: Transaction<S>, answer: Answer, bindings: Bindings) -> End {
        let (inner, route) = (&self.inner, self.call.claim.key.route());
        let settled = if open.mutation.is_open() {
            let settlement = Settlement {
                event: self.fence.event,
                mark: &self.fence.mark,
                claim: &self.call.claim,
                answer: &answer,
                bindings: &bindings,
            };
            inner.timed(Statement::Complete, S::settle(&mut open.mutation, settlement)).await
        } else {
            Ok(Settled::Ended)
        };
        let end = match settled {
            Ok(Settled::Done) => match inner.timed(Statement::Commit, open.mutation.commit()).await {
                Ok(()) => {
                    counted::attempt(route, Ended::Succeeded);
                    inner.announce(open.mutation.take_published());
                    inner.waiters.finished(&self.call.claim.key);
                    return End::Committed;
                }
                // Event and record are changed or not by now, both: whoever looks at the event learns it.
                Err(error) if S::classify(&error) == Fault::Unknown => {
                    counted::attempt(route, Ended::Unwritten);
                    return End::Refused(Error::CommitUnknown);
                }
                Err(error) => End::Refused(unavailable(error)),
            },
            Ok(Settled::Lost) => {
                counted::attempt(route, Ended::Lost);
                End::Refused(Error::Lost)
            }
            Ok(Settled::Met) => End::Met,
            Ok(Settled::Ended) => End::Recorded(Ending::Unknown, Error::TransactionEnded),
            Err(error) if S::classify(&error) == Fault::Aborted => {
                End::Recorded(Ending::Failed(None), Error::TransactionAborted)
            }
            // Without a COMMIT nothing was kept, whatever happened to the connection.
            Err(error) => End::Refused(unavailable(error)),
        };
        let _ = inner.timed(Statement::Rollback, open.mutation.rollback()).await;
        open.lane.put(open.mutation.into_connection());
        end
    }

    /// Rolls back; whether the transaction was still the one that we began.
    async fn roll_back(self: Arc<Self>, mut open: Transaction<S>) -> bool {
        let inner = &self.inner;
        // A connection that does not answer has taken its transaction with it.
        let intact = open.mutation.is_open() && {
            let checking = S::is_intact(&mut open.mutation, self.token());
            inner.timed(Statement::Check, checking).await.unwrap_or(true)
        };
        let _ = inner.timed(Statement::Rollback, open.mutation.rollback()).await;
        open.lane.put(open.mutation.into_connection());
        intact
    }

    /// Claims after all, to write down how the attempt ended; what is recorded already stays.
    async fn record_as<T, E>(&self, ending: Ending, error: Error) -> Result<Ran<T, E>, Error> {
        if let Obtained::Held(held, _place) = self.inner.obtain(self.call.clone()).await? {
            let held: Box<Held<S>> = held;
            held.end(ending).await?;
        }
        Err(error)
    }
}
