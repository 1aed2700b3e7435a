//! Claims a record; a caller who leaves cannot interrupt it half-way.

use std::sync::Arc;
use std::time::Duration;

use tracing::Instrument;
use uuid::Uuid;

use crate::decision::{ClaimKind, Decision, decide};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::guard::counted::{self, Statement};
use crate::guard::held::Held;
use crate::guard::lane::{Lane, Tries};
use crate::guard::uninterrupted::{Begun, Uninterrupted};
use crate::guard::{Inner, Request, unavailable};
use crate::key::RecordKey;
use crate::mutation::Mutation;
use crate::policy::{Mode, OnLapse, Policy};
use crate::record::Reading;
use crate::store::{Fault, NewClaim, Store, StoreResult};

/// One call of the guard: what it claims and what was asked.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(super) claim: NewClaim,
    pub(super) fingerprint: Fingerprint,
    /// For a handler, which needs a place and is not interrupted once its body begins.
    pub(super) begun: Option<Begun>,
}

impl Call {
    pub(crate) fn new<S: Store>(
        inner: &Inner<S>,
        policy: &Policy,
        mode: Mode,
        request: Request,
    ) -> Result<Self, Error> {
        let terms = policy.terms(mode, &inner.defaults)?;
        let claim = NewClaim {
            key: RecordKey::new(request.scope, policy.route().clone(), request.key),
            request_hash: inner.keyring.seal(&request.fingerprint),
            request_fields: inner.keyring.seal_members(&request.fingerprint),
            terms,
            claim_id: Uuid::new_v4(),
        };
        Ok(Self { claim, fingerprint: request.fingerprint, begun: None })
    }

    /// The same from a handler, which may be dropped until it has `begun`.
    #[cfg(feature = "axum")]
    pub(crate) fn of_handler(self, begun: Begun) -> Self {
        Self { begun: Some(begun), ..self }
    }
}

/// What a claim came to.
pub(super) enum Claimed<S: Store> {
    /// The record is ours.
    Held(Box<Held<S>>),
    /// The record says something else.
    Met(Decision, Box<Reading>),
}

impl<S: Store> Inner<S> {
    /// What `call` gets from a record that was read.
    pub(super) fn judge(&self, call: &Call, reading: &Reading) -> Decision {
        let compare = |sealed: &str| self.keyring.compare(&call.fingerprint, sealed);
        decide(Some(&reading.record), compare, &call.claim.terms, reading.now)
    }

    /// Claims the record, or says what it holds.
    ///
    /// Dropped before it is ready, the claim is released as soon as it has been made.
    pub(super) async fn claim(self: &Arc<Self>, call: Arc<Call>) -> Result<Claimed<S>, Error> {
        // For an operator, who asks by this hash what a request would get. Not by default: it is made of the payload.
        let span = tracing::debug_span!(
            "idem.claim",
            route = call.claim.key.route().as_str(),
            request_hash = %call.claim.request_hash
        );
        let claiming = claim(Arc::clone(self), call).instrument(span).in_current_span();
        Uninterrupted::new(&self.tasks, claiming).await
    }
}

async fn claim<S: Store>(inner: Arc<Inner<S>>, call: Arc<Call>) -> Result<Claimed<S>, Error> {
    tracing::debug!("a request asks for its claim");
    let mut tries = Tries::few();
    loop {
        let error = match claim_once(&inner, &call).await {
            Ok(Step::Ours(ours, lane)) => return hold(&inner, &call, lane, *ours).await,
            Ok(Step::Met(decision, reading)) => return Ok(Claimed::Met(decision, reading)),
            // Others keep changing the row faster than we look: somebody is at work on it.
            Ok(Step::Unsettled) if !tries.again().await => return Err(Error::in_progress(Duration::ZERO)),
            Ok(Step::Unsettled) => continue,
            Err(error) => error,
        };
        if S::classify(&error) == Fault::Locked {
            return met_locked(&inner, &call).await;
        }
        // After a lost reply the same claim_id recognises what was written.
        let passing = matches!(S::classify(&error), Fault::Again | Fault::Unknown);
        if !passing || !tries.again().await {
            return Err(unavailable(error));
        }
    }
}

/// A transaction in flight holds the row: whatever is committed answers, and nobody claims meanwhile.
async fn met_locked<S: Store>(inner: &Inner<S>, call: &Call) -> Result<Claimed<S>, Error> {
    match look_first(inner, call, &mut Lane::default()).await.map_err(unavailable)? {
        Some(Step::Met(decision, reading)) => Ok(Claimed::Met(decision, reading)),
        _ => Err(Error::in_progress(Duration::ZERO)),
    }
}

/// A record that is ours now.
struct Ours {
    reading: Reading,
    /// Whether an earlier attempt may have taken effect outside.
    recovery: bool,
}

/// What one try came to.
enum Step<S: Store> {
    Ours(Box<Ours>, Lane<S>),
    Met(Decision, Box<Reading>),
    /// The row changed or could not be seen: look again.
    Unsettled,
}

async fn claim_once<S: Store>(inner: &Inner<S>, call: &Call) -> StoreResult<Step<S>> {
    let mut lane = Lane::default();
    // A read decides nothing but a refusal or a replay; a duplicate must not wait for the only writer, and a
    // key that was met lately is likely to be one.
    if (S::SINGLE_WRITER || inner.seen.has(&call.claim.key))
        && let Some(met) = look_first(inner, call, &mut lane).await?
    {
        return Ok(met);
    }
    if S::SINGLE_WRITER {
        // Waits for the turn without a connection, which the one whose turn it is may need.
        drop(lane);
        lane = inner.lane().await?;
    }
    let claimed = claim_in(inner, call, &mut lane).await;
    if let Err(error) = &claimed {
        lane.doubt(error);
    }
    inner.seen.remember(&call.claim.key);
    Ok(match claimed? {
        Some(Ok(ours)) => Step::Ours(Box::new(ours), lane),
        Some(Err((decision, reading))) => Step::Met(decision, reading),
        None => Step::Unsettled,
    })
}

/// What a record says that may not be claimed.
async fn look_first<S: Store>(
    inner: &Inner<S>,
    call: &Call,
    lane: &mut Lane<S>,
) -> StoreResult<Option<Step<S>>> {
    let Some(reading) = lane.read(inner, &call.claim.key).await? else { return Ok(None) };
    // An earlier try of this very claim, whose reply was lost, is no twin.
    if reading.record.token.claim_id == call.claim.claim_id {
        return Ok(None);
    }
    Ok(match inner.judge(call, &reading) {
        Decision::Claim(_) => None,
        decision => Some(Step::Met(decision, Box::new(reading))),
    })
}

/// One statement for a fresh key and for every duplicate; a second one only to take a record over.
///
/// `Err` is what the record says that may not be claimed; `None`: the row has to be looked at again.
async fn claim_in<S: Store>(
    inner: &Inner<S>,
    call: &Call,
    lane: &mut Lane<S>,
) -> StoreResult<Option<Result<Ours, (Decision, Box<Reading>)>>> {
    let connection = lane.connection(inner).await?;
    let Some(met) = inner.timed(Statement::Claim, S::insert(connection, &call.claim)).await? else {
        return Ok(None);
    };
    let recovers = call.claim.terms.on_lapse == OnLapse::Recover;
    if met.record.token.claim_id == call.claim.claim_id {
        // An earlier try whose reply was lost may have taken over what stopped half-way: it must ask.
        let recovery = recovers && met.record.token.attempt > 1;
        return Ok(Some(Ok(Ours { reading: met, recovery })));
    }
    let kind = match inner.judge(call, &met) {
        Decision::Claim(kind) => kind,
        decision => return Ok(Some(Err((decision, Box::new(met))))),
    };
    let anew = kind == ClaimKind::Anew;
    let taking = S::take_over(connection, &met.record, anew, &call.claim);
    let taken = inner.timed(Statement::TakeOver, taking).await?;
    if taken.is_some() {
        counted::reclaim(call.claim.key.route(), kind, met.record.status);
    }
    Ok(taken.map(|reading| Ok(Ours { reading, recovery: kind == ClaimKind::Recover })))
}

/// Wraps a claim that is ours; in transactional mode its connection begins the body's transaction.
async fn hold<S: Store>(
    inner: &Arc<Inner<S>>,
    call: &Arc<Call>,
    mut lane: Lane<S>,
    Ours { reading, recovery }: Ours,
) -> Result<Claimed<S>, Error> {
    let mut held = Held::new(Arc::clone(inner), Arc::clone(call), reading, recovery);
    if call.claim.terms.mode == Mode::Transactional
        && let Some(connection) = lane.take()
    {
        let begin = Mutation::begin(connection, Box::new(held.record().clone()), inner.publishing.clone());
        match inner.timed(Statement::Begin, begin).await {
            Ok(mutation) => held.set_transaction(mutation, lane),
            // `held` is dropped, which releases the claim.
            Err(error) => return Err(unavailable(error)),
        }
    }
    Ok(Claimed::Held(Box::new(held)))
}
