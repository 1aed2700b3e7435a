//! The table of the design, row by row, with its boundaries.

use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::key::{IdempotencyKey, RecordKey, Route, Scope};
use crate::policy::{Defaults, Policy};
use crate::record::{Answer, Bindings, FencingToken};

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);
const SECOND: Duration = Duration::from_secs(1);

fn before(span: Duration) -> Timestamp {
    Timestamp::from_micros(NOW.as_micros() - i64::try_from(span.as_micros()).unwrap())
}

fn terms(mode: Mode, on_lapse: OnLapse, retry_failed: bool) -> Terms {
    Policy::new("orders.create")
        .unwrap()
        .on_lapse(on_lapse)
        .retry_failed(retry_failed)
        .terms(mode, &Defaults::default())
        .unwrap()
}

fn transactional() -> Terms {
    terms(Mode::Transactional, OnLapse::Rerun, false)
}

fn external(on_lapse: OnLapse) -> Terms {
    terms(Mode::External, on_lapse, false)
}

/// A record in process whose lease and life go on.
fn processing(terms: Terms) -> Record {
    Record {
        key: RecordKey::new(
            Scope::new("t", "u").unwrap(),
            Route::new("orders.create").unwrap(),
            IdempotencyKey::new("k").unwrap(),
        ),
        request_hash: "v1:-:00".to_owned(),
        request_fields: None,
        status: Status::Processing,
        token: FencingToken { attempt: 1, claim_id: Uuid::nil() },
        revision: 1,
        answer: None,
        bindings: Bindings::default(),
        locked_until: Some(NOW.plus(SECOND)),
        expires_at: NOW.plus(SECOND * 10),
        terms,
        outcome_unknown: false,
        released_at: None,
        created_at: before(SECOND),
        updated_at: before(SECOND),
        completed_at: None,
    }
}

fn lapsed(terms: Terms) -> Record {
    Record { locked_until: Some(before(SECOND)), ..processing(terms) }
}

fn succeeded(terms: Terms) -> Record {
    Record {
        status: Status::Succeeded,
        answer: Some(Answer::json(200, Vec::new())),
        locked_until: None,
        completed_at: Some(before(SECOND)),
        ..processing(terms)
    }
}

fn failed(terms: Terms, answer: Option<Answer>) -> Record {
    Record { status: Status::Failed, answer, ..succeeded(terms) }
}

/// The decision for the same request under the record's own terms, and for another request.
fn both(record: &Record) -> (Decision, Decision) {
    let by = |comparison| decide(Some(record), |_| comparison, &record.terms, NOW);
    (by(Comparison::Same), by(Comparison::Different))
}

const AGAIN: Decision = Decision::Claim(ClaimKind::Again);
const ANEW: Decision = Decision::Claim(ClaimKind::Anew);

#[test]
fn a_missing_record_is_inserted() {
    let decision = decide(None, |_| Comparison::Different, &transactional(), NOW);
    assert_eq!(decision, Decision::Claim(ClaimKind::Insert));
}

#[test]
fn a_live_lease_is_in_progress_for_the_same_request_and_a_conflict_at_once_for_another() {
    for terms in [transactional(), external(OnLapse::Rerun), external(OnLapse::Refuse)] {
        let record = processing(terms);
        let in_progress = Decision::InProgress { until: NOW.plus(SECOND) };
        assert_eq!(both(&record), (in_progress, Decision::Conflict));
    }
}

#[test]
fn a_lease_that_ends_exactly_now_has_ended() {
    let mut record = processing(transactional());
    record.locked_until = Some(NOW);
    assert_eq!(both(&record), (AGAIN, Decision::Conflict));
    record.locked_until = Some(NOW.plus(Duration::from_micros(1)));
    assert!(matches!(both(&record).0, Decision::InProgress { .. }));
}

#[test]
fn a_lapsed_attempt_in_a_transaction_is_claimed_again_by_the_same_request_alone() {
    assert_eq!(both(&lapsed(transactional())), (AGAIN, Decision::Conflict));
}

#[test]
fn a_lapsed_external_attempt_follows_on_lapse() {
    assert_eq!(both(&lapsed(external(OnLapse::Rerun))), (AGAIN, Decision::Conflict));
    assert_eq!(both(&lapsed(external(OnLapse::Refuse))), (Decision::OutcomeUnknown, Decision::Conflict));
    let recover = Decision::Claim(ClaimKind::Recover);
    assert_eq!(both(&lapsed(external(OnLapse::Recover))), (recover, Decision::Conflict));
}

#[test]
fn a_lapsed_external_attempt_is_judged_by_the_stricter_of_record_and_code() {
    let meet = |recorded, coded| {
        decide(Some(&lapsed(external(recorded))), |_| Comparison::Same, &external(coded), NOW)
    };
    assert_eq!(meet(OnLapse::Rerun, OnLapse::Refuse), Decision::OutcomeUnknown);
    assert_eq!(meet(OnLapse::Refuse, OnLapse::Rerun), Decision::OutcomeUnknown);
    assert_eq!(meet(OnLapse::Rerun, OnLapse::Recover), Decision::Claim(ClaimKind::Recover));
    // The record promised to ask, and this code has nobody to ask.
    assert_eq!(meet(OnLapse::Recover, OnLapse::Rerun), Decision::OutcomeUnknown);
    let now_transactional =
        decide(Some(&lapsed(external(OnLapse::Refuse))), |_| Comparison::Same, &transactional(), NOW);
    assert_eq!(now_transactional, Decision::OutcomeUnknown);
}

#[test]
fn a_success_is_replayed_to_the_same_request_and_a_conflict_for_another() {
    assert_eq!(both(&succeeded(transactional())), (Decision::Replay, Decision::Conflict));
}

#[test]
fn a_failure_is_retried_only_where_the_route_says_so() {
    let pinned = transactional();
    let retried = terms(Mode::Transactional, OnLapse::Rerun, true);
    let answer = Some(Answer::json(402, Vec::new()));
    assert_eq!(both(&failed(pinned, answer.clone())), (Decision::Replay, Decision::Conflict));
    assert_eq!(both(&failed(pinned, None)), (Decision::Failed, Decision::Conflict));
    assert_eq!(both(&failed(retried, answer)), (AGAIN, Decision::Conflict));
    assert_eq!(both(&failed(retried, None)), (AGAIN, Decision::Conflict));
}

#[test]
fn a_released_claim_is_claimable_at_once_by_the_same_request() {
    let mut record = failed(transactional(), None);
    record.released_at = Some(before(SECOND));
    assert_eq!(both(&record), (AGAIN, Decision::Conflict));
}

#[test]
fn an_unknown_outcome_waits_for_an_operator_whatever_the_mode() {
    for terms in [transactional(), external(OnLapse::Rerun), external(OnLapse::Recover)] {
        let mut record = lapsed(terms);
        record.outcome_unknown = true;
        assert_eq!(both(&record), (Decision::OutcomeUnknown, Decision::Conflict));
        record.expires_at = before(SECOND);
        assert_eq!(both(&record), (Decision::OutcomeUnknown, Decision::Conflict));
    }
}

#[test]
fn a_life_that_ends_exactly_now_has_ended_for_everybody() {
    let records = [
        succeeded(transactional()),
        failed(transactional(), None),
        lapsed(transactional()),
        lapsed(external(OnLapse::Rerun)),
    ];
    for mut record in records {
        record.expires_at = NOW;
        assert_eq!(both(&record), (ANEW, ANEW), "{:?}", record.status);
        record.expires_at = NOW.plus(Duration::from_micros(1));
        assert_ne!(both(&record).1, ANEW);
    }
}

#[test]
fn a_life_that_ends_together_with_its_lease_is_over_for_everybody() {
    for terms in [transactional(), external(OnLapse::Rerun)] {
        let record = Record { locked_until: Some(NOW), expires_at: NOW, ..processing(terms) };
        assert_eq!(both(&record), (ANEW, ANEW));
    }
}

#[test]
fn a_record_that_was_marked_expired_begins_anew_for_everybody() {
    let mut record = succeeded(transactional());
    record.status = Status::Expired;
    assert_eq!(both(&record), (ANEW, ANEW));
}

#[test]
fn a_live_lease_outlives_the_record() {
    let mut record = processing(transactional());
    record.expires_at = before(SECOND);
    assert!(matches!(both(&record).0, Decision::InProgress { .. }));
    assert_eq!(both(&record).1, Decision::Conflict);
}

#[test]
fn a_lapsed_external_attempt_that_may_not_simply_rerun_does_not_expire_by_itself() {
    for (on_lapse, same) in
        [(OnLapse::Refuse, Decision::OutcomeUnknown), (OnLapse::Recover, Decision::Claim(ClaimKind::Recover))]
    {
        let mut record = lapsed(external(on_lapse));
        record.expires_at = before(SECOND);
        assert_eq!(both(&record), (same, Decision::Conflict));
    }
}

#[test]
fn a_fingerprint_of_an_unknown_version_is_refused_and_never_run_again() {
    let records = [processing(transactional()), lapsed(transactional()), succeeded(transactional())];
    for record in records {
        let decision = decide(Some(&record), |_| Comparison::Unknown, &record.terms, NOW);
        assert_eq!(decision, Decision::UnknownFingerprint);
    }
}
