//! The order of things: refuse nesting, obtain the claim, run the body once, write what came of it.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use tracing::Instrument;

use crate::error::Error;
use crate::guard::Inner;
use crate::guard::claim::Call;
use crate::guard::counted;
use crate::guard::external::Claim;
use crate::guard::held::Held;
use crate::guard::nesting::{self, Frame};
use crate::guard::obtain::Obtained;
use crate::guard::recovery::Doubt;
use crate::guard::settle::{Ending, Settled};
use crate::mutation::Mutation;
use crate::record::{Answer, Bindings, Record, Status, Timestamp};
use crate::store::Store;

/// What a body came to, with the answer that a retry gets.
#[derive(Debug)]
pub enum Verdict<T, E> {
    /// Success.
    Succeeded {
        /// What the first caller gets.
        value: T,
        /// What a retry gets.
        answer: Answer,
        /// The asynchronous effects.
        bindings: Bindings,
    },
    /// Failure.
    Failed {
        /// What the first caller gets.
        error: E,
        /// What a retry gets, if it can be kept.
        answer: Option<Answer>,
    },
    /// Failure after which a retry runs.
    Released {
        /// What the first caller gets.
        error: E,
    },
    /// The value cannot be kept, so that a retry could never get it.
    NotRecordable {
        /// Why not.
        reason: String,
    },
}

/// What a call came to.
pub(crate) enum Ran<T, E> {
    First { value: T, attempt: i64, expires_at: Option<Timestamp>, bindings: Bindings },
    Failed { error: E, expires_at: Option<Timestamp> },
    Recorded(Box<Record>),
}

/// Runs `body` at most once, in a transaction that commits together with the record.
///
/// Everything is owned and `judge` stands apart from `body`, so that the future is `Send` whenever the
/// body's is: the compiler cannot prove that of a borrow around an async closure.
pub(crate) async fn run_in_transaction<S: Store, R, T, E>(
    inner: Arc<Inner<S>>,
    call: Call,
    body: impl AsyncFnOnce(&mut Mutation<S>) -> R,
    judge: impl FnOnce(R) -> Verdict<T, E>,
) -> Result<Ran<T, E>, Error> {
    let frame = nesting::enter(inner.id, &inner.tally, &call.claim.key, call.claim.terms.mode)?;
    let span = frame.span.clone();
    in_transaction(frame, inner, call, body, judge).instrument(span).await
}

async fn in_transaction<S: Store, R, T, E>(
    frame: Arc<Frame>,
    inner: Arc<Inner<S>>,
    call: Call,
    body: impl AsyncFnOnce(&mut Mutation<S>) -> R,
    judge: impl FnOnce(R) -> Verdict<T, E>,
) -> Result<Ran<T, E>, Error> {
    let (mut held, _place) = match inner.obtain(call).await {
        Ok(Obtained::Held(held, place)) => (held, place),
        Ok(Obtained::Recorded(record)) => return frame.reported(Ok(Ran::Recorded(record))),
        Err(error) => return frame.reported(Err(error)),
    };
    frame.span.record("attempt", held.token().attempt);
    let begin = Instant::now();
    let Some(mutation) = held.start() else {
        return Err(Error::StoreUnavailable(None));
    };
    // Dropped while the body runs, `held` rolls back and releases.
    let running = nesting::within(Arc::clone(&frame), body(mutation));
    let result = AssertUnwindSafe(running).catch_unwind().await;
    let verdict = result.map(|result| unless_refused(&frame, judge(result)));
    counted::body(held.record().key.route(), &verdict, begin.elapsed());
    let bound = held.bindings();
    frame.reported(conclude(held, bound, verdict, Ending::Failed(None)).await)
}

/// Runs `body` without a transaction, between a durable claim and a durable answer.
pub(crate) async fn run_outside<S: Store, R, T, E>(
    inner: Arc<Inner<S>>,
    call: Call,
    body: impl AsyncFnOnce(&Claim<S>) -> R,
    judge: impl FnOnce(R) -> Verdict<T, E>,
) -> Result<Ran<T, E>, Error> {
    let frame = nesting::enter(inner.id, &inner.tally, &call.claim.key, call.claim.terms.mode)?;
    let span = frame.span.clone();
    outside(frame, inner, call, body, judge).instrument(span).await
}

async fn outside<S: Store, R, T, E>(
    frame: Arc<Frame>,
    inner: Arc<Inner<S>>,
    call: Call,
    body: impl AsyncFnOnce(&Claim<S>) -> R,
    judge: impl FnOnce(R) -> Verdict<T, E>,
) -> Result<Ran<T, E>, Error> {
    let (mut held, _place) = match inner.obtain(call).await {
        Ok(Obtained::Held(held, place)) => (held, place),
        Ok(Obtained::Recorded(record)) => return frame.reported(Ok(Ran::Recorded(record))),
        Err(error) => return frame.reported(Err(error)),
    };
    frame.span.record("attempt", held.token().attempt);
    let begin = Instant::now();
    held.start();
    let claim = Claim::new(inner, held.record().clone(), Doubt::new(held.is_recovery()));
    // Dropped while the body runs, `held` ends the lease, and `on_lapse` decides.
    let running = nesting::within(Arc::clone(&frame), body(&claim));
    let result = AssertUnwindSafe(running).catch_unwind().await;
    let verdict = result.map(|result| unless_refused(&frame, judge(result)));
    counted::body(held.record().key.route(), &verdict, begin.elapsed());
    if claim.doubt.remains() {
        return frame.reported(doubtful(held, verdict).await);
    }
    frame.reported(conclude(held, claim.into_bindings(), verdict, Ending::Unknown).await)
}

/// Ends an attempt that could not learn, or did not ask, whether an earlier one took effect.
async fn doubtful<S: Store, T, E>(
    held: Box<Held<S>>,
    verdict: std::thread::Result<Verdict<T, E>>,
) -> Result<Ran<T, E>, Error> {
    tracing::error!(route = %held.record().key.route(), "nobody can say whether an earlier attempt took effect");
    let settled = held.end(Ending::Unknown).await;
    if let Err(panic) = verdict {
        resume_unwind(panic)
    }
    match settled? {
        Settled::Written(_) => Err(Error::OutcomeUnknown),
        Settled::Superseded(record) => Ok(Ran::Recorded(record)),
    }
}

/// A failure that hands on the refusal of an operation inside is released: a refusal is never stored.
pub(super) fn unless_refused<T, E>(frame: &Frame, verdict: Verdict<T, E>) -> Verdict<T, E> {
    match verdict {
        Verdict::Failed { error, .. } if frame.was_refused_inside() => Verdict::Released { error },
        verdict => verdict,
    }
}

/// Writes the verdict; `unrecordable` is the ending of a success that cannot be kept.
pub(super) async fn conclude<S: Store, T, E>(
    held: Box<Held<S>>,
    bound: Bindings,
    verdict: std::thread::Result<Verdict<T, E>>,
    unrecordable: Ending,
) -> Result<Ran<T, E>, Error> {
    let attempt = held.token().attempt;
    match verdict {
        Ok(Verdict::Succeeded { value, answer, bindings }) => {
            let bindings = Bindings {
                task_id: bindings.task_id.or(bound.task_id),
                outbox_event_id: bindings.outbox_event_id.or(bound.outbox_event_id),
            };
            let stored = bindings.check().and_then(|()| held.to_store(Status::Succeeded, answer));
            let answer = match stored {
                Ok(answer) => answer,
                Err(reason) => {
                    held.end(unrecordable).await?;
                    return Err(Error::AnswerNotRecordable { reason });
                }
            };
            let settled = held.end(Ending::Succeeded(answer, bindings.clone())).await?;
            Ok(match settled {
                Settled::Written(expires_at) => Ran::First { value, attempt, expires_at, bindings },
                Settled::Superseded(record) => Ran::Recorded(record),
            })
        }
        Ok(Verdict::Failed { error, answer }) => {
            // A failure is a failure whether or not its answer can be kept.
            let answer = answer.and_then(|answer| held.to_store(Status::Failed, answer).ok());
            Ok(failed(held.end(Ending::Failed(answer)).await?, error))
        }
        Ok(Verdict::Released { error }) => Ok(failed(held.end(Ending::Released).await?, error)),
        Ok(Verdict::NotRecordable { reason }) => {
            held.end(unrecordable).await?;
            Err(Error::AnswerNotRecordable { reason })
        }
        Err(panic) => {
            // The panic goes on whether or not it could be recorded; a lapsed lease says the same.
            if let Err(error) = held.end(Ending::Failed(None)).await {
                tracing::warn!(%error, "a panic of a guarded body could not be recorded");
            }
            resume_unwind(panic)
        }
    }
}

fn failed<T, E>(settled: Settled, error: E) -> Ran<T, E> {
    match settled {
        Settled::Written(expires_at) => Ran::Failed { error, expires_at },
        Settled::Superseded(record) => Ran::Recorded(record),
    }
}
