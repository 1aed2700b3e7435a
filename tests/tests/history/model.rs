//! The model: a record in memory, changed as the design says and judged by `decide`.

use super::{
    Answer, Bindings, ClaimKind, Comparison, Decision, FencingToken, HOUR, Mode, NewClaim, OnLapse, Record,
    RecordKey, Status, Step, Timestamp, decide, is_over,
};

/// What is compared of a record; spans in whole hours from now.
#[derive(Debug, PartialEq)]
pub(crate) struct Summary {
    status: Status,
    token: FencingToken,
    request_hash: String,
    answer: Option<u16>,
    bindings: Bindings,
    retry_failed: bool,
    mode: Mode,
    on_lapse: OnLapse,
    outcome_unknown: bool,
    lease: Option<i64>,
    life: i64,
    created: i64,
    completed: Option<i64>,
    released: Option<i64>,
}

/// Hours from `now` to `moment`, rounded: what really passes during a test is far less than half of one.
fn hours(now: Timestamp, moment: Timestamp) -> i64 {
    let hour = i64::try_from(HOUR.as_micros()).unwrap();
    let span = moment.as_micros() - now.as_micros();
    (span + hour / 2).div_euclid(hour)
}

pub(crate) fn summary(record: &Record, now: Timestamp) -> Summary {
    Summary {
        status: record.status,
        token: record.token,
        request_hash: record.request_hash.clone(),
        answer: record.answer.as_ref().map(|answer| answer.code),
        bindings: record.bindings.clone(),
        retry_failed: record.terms.retry_failed,
        mode: record.terms.mode,
        on_lapse: record.terms.on_lapse,
        outcome_unknown: record.outcome_unknown,
        lease: record.locked_until.map(|end| hours(now, end)),
        life: hours(now, record.expires_at),
        created: hours(now, record.created_at),
        completed: record.completed_at.map(|at| hours(now, at)),
        released: record.released_at.map(|at| hours(now, at)),
    }
}

pub(crate) fn compare(sealed: &str, request_hash: &str) -> Comparison {
    if sealed == request_hash { Comparison::Same } else { Comparison::Different }
}

pub(crate) fn answer(code: u16) -> Answer {
    Answer::json(code, b"{}".to_vec())
}

pub(crate) fn bound() -> Bindings {
    Bindings { task_id: Some("task".to_owned()), outbox_event_id: None }
}

/// A decision without its moments.
pub(crate) fn word(decision: Decision) -> &'static str {
    match decision {
        // Whether a claim inserts or begins anew is the database's affair when the row is gone.
        Decision::Claim(ClaimKind::Insert) => "insert",
        Decision::Claim(ClaimKind::Anew) => "anew",
        Decision::Claim(ClaimKind::Again) => "again",
        Decision::Claim(ClaimKind::Recover) => "recover",
        Decision::Replay => "replay",
        Decision::InProgress { .. } => "in progress",
        Decision::OutcomeUnknown => "unknown",
        Decision::Failed => "failed",
        Decision::Conflict => "conflict",
        Decision::UnknownFingerprint => "unknown fingerprint",
    }
}

pub(crate) struct Model {
    key: RecordKey,
    now: Timestamp,
    record: Option<Record>,
    fenced: bool,
}

impl Model {
    pub(crate) fn new(key: RecordKey) -> Self {
        // Late enough that nothing falls before the beginning of time.
        Self { key, now: Timestamp::from_micros(1_700_000_000_000_000), record: None, fenced: true }
    }

    /// Breaks the model, to show that the comparison can fail.
    pub(crate) fn forget_fencing(&mut self) {
        self.fenced = false;
    }

    pub(crate) fn summary(&self) -> Option<Summary> {
        self.record.as_ref().map(|record| summary(record, self.now))
    }

    pub(crate) fn step(
        &mut self,
        step: &Step,
        tokens: &mut [FencingToken],
        claim: Option<NewClaim>,
    ) -> String {
        let now = self.now;
        match step {
            Step::Claim { actor, .. } => {
                let decision = self.claim(&claim.expect("a claim comes with one"));
                if let (Decision::Claim(_), Some(record)) = (decision, &self.record) {
                    tokens[*actor] = record.token;
                }
                word(decision).to_owned()
            }
            Step::Complete(actor) => self.owned(tokens[*actor], |record| {
                settle(record, Status::Succeeded, now);
                record.answer = Some(answer(200));
            }),
            Step::Fail(actor) => self.owned(tokens[*actor], |record| {
                settle(record, Status::Failed, now);
                record.answer = Some(answer(500));
            }),
            Step::Release(actor) => self.release(tokens[*actor]),
            Step::Renew(actor) => {
                if self.record.as_ref().is_some_and(|record| record.outcome_unknown) {
                    return "false".to_owned();
                }
                self.owned(tokens[*actor], |record| {
                    let end = now.plus(HOUR * 10);
                    record.locked_until = Some(end);
                    record.expires_at = record.expires_at.max(end);
                })
            }
            Step::EndLease(actor) => self.owned(tokens[*actor], |record| end_lease(record, now)),
            Step::MarkUnknown(actor) => self.owned(tokens[*actor], |record| {
                end_lease(record, now);
                record.outcome_unknown = true;
            }),
            Step::Bind(actor) => self.owned(tokens[*actor], |record| record.bindings = bound()),
            Step::Expire => match &mut self.record {
                Some(record) if is_over(record, now) && record.status != Status::Expired => {
                    record.status = Status::Expired;
                    record.locked_until = None;
                    "1".to_owned()
                }
                _ => "0".to_owned(),
            },
            Step::Purge => {
                let old = |record: &Record| is_over(record, now) && record.expires_at.plus(HOUR) <= now;
                if self.record.as_ref().is_some_and(old) {
                    self.record = None;
                    return "1".to_owned();
                }
                "0".to_owned()
            }
            Step::Pass(hours) => {
                self.now = now.plus(HOUR * *hours);
                String::new()
            }
        }
    }

    fn claim(&mut self, claim: &NewClaim) -> Decision {
        let now = self.now;
        let judge = |sealed: &str| compare(sealed, &claim.request_hash);
        let decision = decide(self.record.as_ref(), judge, &claim.terms, now);
        let Decision::Claim(kind) = decision else { return decision };
        let before = self.record.take().filter(|_| kind != ClaimKind::Insert);
        let attempt = before.as_ref().map_or(1, |record| record.token.attempt + 1);
        let fresh = new_record(&self.key, claim, attempt, now);
        self.record = Some(match before {
            Some(before) if kind != ClaimKind::Anew => Record {
                request_hash: before.request_hash,
                created_at: before.created_at,
                bindings: before.bindings,
                ..fresh
            },
            _ => fresh,
        });
        decision
    }

    /// Changes the record if `token` owns it.
    fn owned(&mut self, token: FencingToken, change: impl FnOnce(&mut Record)) -> String {
        let fenced = self.fenced;
        let owned =
            |record: &&mut Record| record.status == Status::Processing && (!fenced || record.token == token);
        let changed = self.record.as_mut().filter(owned).map(change);
        changed.is_some().to_string()
    }

    fn release(&mut self, token: FencingToken) -> String {
        let now = self.now;
        let releasable = |record: &&mut Record| {
            record.token == token && matches!(record.status, Status::Processing | Status::Failed)
        };
        let released = self.record.as_mut().filter(releasable).map(|record| {
            record.status = Status::Failed;
            record.answer = None;
            record.locked_until = None;
            record.outcome_unknown = false;
            record.released_at = Some(now);
            record.completed_at = Some(now);
        });
        released.is_some().to_string()
    }
}

fn end_lease(record: &mut Record, now: Timestamp) {
    record.locked_until = record.locked_until.map(|end| end.min(now));
}

fn settle(record: &mut Record, status: Status, now: Timestamp) {
    record.status = status;
    record.locked_until = None;
    record.completed_at = Some(now);
    record.outcome_unknown = false;
    record.expires_at = now.plus(record.terms.ttl);
}

/// A record as the insert of `claim` writes it.
fn new_record(key: &RecordKey, claim: &NewClaim, attempt: i64, now: Timestamp) -> Record {
    let lease_end = now.plus(claim.terms.lease);
    Record {
        key: key.clone(),
        request_hash: claim.request_hash.clone(),
        request_fields: None,
        status: Status::Processing,
        token: FencingToken { attempt, claim_id: claim.claim_id },
        revision: 1,
        answer: None,
        bindings: Bindings::default(),
        locked_until: Some(lease_end),
        expires_at: now.plus(claim.terms.ttl).max(lease_end),
        terms: claim.terms,
        outcome_unknown: false,
        released_at: None,
        created_at: now,
        updated_at: now,
        completed_at: None,
    }
}
