//! From a request to one of three: the claim, the recorded answer, or a refusal; waits in between.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::time::Instant;

use crate::decision::Decision;
use crate::error::Error;
use crate::guard::claim::{Call, Claimed};
use crate::guard::counted;
use crate::guard::held::Held;
use crate::guard::lane::Lane;
use crate::guard::places::Place;
use crate::guard::waiters::Crowded;
use crate::guard::{Inner, unavailable};
use crate::key::RecordKey;
use crate::record::{Reading, Record};
use crate::store::{Store, StoreResult};

/// What a request got.
pub(super) enum Obtained<S: Store> {
    /// It is ours to run; a handler has its place until it has ended.
    Held(Box<Held<S>>, Option<Place>),
    /// It ran before, and this is what came of it.
    Recorded(Box<Record>),
}

impl<S: Store> Inner<S> {
    /// Claims, or waits for the twin up to the policy's `wait` and looks again.
    pub(super) async fn obtain(self: &Arc<Self>, call: Call) -> Result<Obtained<S>, Error> {
        let deadline = Instant::now() + call.claim.terms.wait;
        let call = Arc::new(call);
        loop {
            let (claimed, place) = self.claim_in_place(&call).await?;
            match claimed {
                Claimed::Held(held) => {
                    if let Some(begun) = &call.begun {
                        begun.set();
                    }
                    return Ok(Obtained::Held(held, place));
                }
                Claimed::Met(decision @ Decision::InProgress { .. }, met) if Instant::now() < deadline => {
                    // Those who wait do not work.
                    drop(place);
                    match self.wait_for_twin(&call, deadline).await {
                        Ok(Some(reading)) if self.judge(&call, &reading) == Decision::Replay => {
                            let record = self.opened(reading.record.clone())?;
                            return Ok(Obtained::Recorded(record));
                        }
                        Ok(_) => {}
                        Err(Crowded) => {
                            return self.refuse_or_replay(&call, decision, *met).map(Obtained::Recorded);
                        }
                    }
                }
                Claimed::Met(decision, reading) => {
                    return self.refuse_or_replay(&call, decision, *reading).map(Obtained::Recorded);
                }
            }
        }
    }

    /// Claims at a place of its own if it comes from a handler; a duplicate needs none when none is free.
    async fn claim_in_place(
        self: &Arc<Self>,
        call: &Arc<Call>,
    ) -> Result<(Claimed<S>, Option<Place>), Error> {
        if call.begun.is_none() {
            return Ok((self.claim_as_allowed(Arc::clone(call)).await?, None));
        }
        let place = match self.places.free() {
            Some(place) => place,
            None => {
                if let Some(reading) = self.look(&call.claim.key).await.map_err(unavailable)? {
                    let decision = self.judge(call, &reading);
                    if !matches!(decision, Decision::Claim(_)) {
                        return Ok((Claimed::Met(decision, Box::new(reading)), None));
                    }
                }
                self.places.wait(self.patience).await?
            }
        };
        Ok((self.claim_as_allowed(Arc::clone(call)).await?, Some(place)))
    }

    /// What the caller of a lost claim gets: it waits for its successor up to the policy's `wait`, and claims no
    /// more.
    pub(super) async fn outlast_successor(&self, call: &Call, refusal: Error) -> Result<Box<Record>, Error> {
        let wait = call.claim.terms.wait;
        if wait.is_zero() {
            return Err(refusal);
        }
        let Ok(Some(reading)) = self.wait_for_twin(call, Instant::now() + wait).await else {
            return Err(refusal);
        };
        let decision = self.judge(call, &reading);
        self.refuse_or_replay(call, decision, (*reading).clone())
    }

    async fn wait_for_twin(&self, call: &Call, deadline: Instant) -> Result<Option<Arc<Reading>>, Crowded> {
        let key = &call.claim.key;
        let look = || self.look(key).boxed();
        let done = |reading: &Reading| !matches!(self.judge(call, reading), Decision::InProgress { .. });
        let seen = self.waiters.wait(key, deadline, look, done).await?;
        let decision = seen.as_ref().map(|reading| self.judge(call, reading));
        counted::wait(key.route(), decision.as_ref(), Instant::now() < deadline);
        Ok(seen)
    }

    pub(super) async fn look(&self, key: &RecordKey) -> StoreResult<Option<Reading>> {
        Lane::default().read(self, key).await
    }

    /// What a caller gets who may not claim: the recorded answer or an error.
    pub(super) fn refuse_or_replay(
        &self,
        call: &Call,
        decision: Decision,
        reading: Reading,
    ) -> Result<Box<Record>, Error> {
        let Reading { record, now } = reading;
        match decision {
            Decision::Replay => Ok(self.opened(record)?),
            Decision::InProgress { until } => Err(Error::in_progress(now.until(until))),
            Decision::OutcomeUnknown => Err(Error::OutcomeUnknown),
            Decision::Failed => Err(Error::Failed),
            Decision::UnknownFingerprint => Err(Error::UnknownFingerprint),
            // Only reached after a lost claim, whose caller must not claim once more.
            Decision::Claim(_) => Err(Error::Lost),
            Decision::Conflict => {
                let changed = match &record.request_fields {
                    Some(sealed) => self.keyring.changed_members(&call.fingerprint, sealed),
                    None => Vec::new(),
                };
                Err(Error::Conflict { changed })
            }
        }
    }
}
