//! Each verdict once, with what the next request gets.

use uuid::Uuid;

use super::*;
use crate::key::{IdempotencyKey, RecordKey, Route, Scope};
use crate::policy::{Defaults, Policy};
use crate::record::{Answer, Bindings, FencingToken};

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

fn record(on_lapse: OnLapse, retry_failed: bool) -> Record {
    let mode = if on_lapse == OnLapse::Rerun { Mode::Transactional } else { Mode::External };
    let policy = Policy::new("orders.create").unwrap().on_lapse(on_lapse).retry_failed(retry_failed);
    Record {
        key: RecordKey::new(
            Scope::new("t", "u").unwrap(),
            Route::new("orders.create").unwrap(),
            IdempotencyKey::new("k").unwrap(),
        ),
        request_hash: "v1:-:00".to_owned(),
        request_fields: None,
        status: Status::Processing,
        token: FencingToken { attempt: 3, claim_id: Uuid::nil() },
        revision: 1,
        answer: None,
        bindings: Bindings::default(),
        locked_until: Some(NOW.plus(Duration::from_secs(3))),
        expires_at: NOW.plus(Duration::from_mins(1)),
        terms: policy.wait(Duration::from_secs(2)).terms(mode, &Defaults::default()).unwrap(),
        outcome_unknown: false,
        released_at: None,
        created_at: NOW,
        updated_at: NOW,
        completed_at: None,
    }
}

fn settled(status: Status, code: Option<u16>, retry_failed: bool) -> Record {
    let answer = code.map(|code| Answer::json(code, Vec::new()));
    Record { status, answer, locked_until: None, ..record(OnLapse::Rerun, retry_failed) }
}

fn lapsed(on_lapse: OnLapse) -> Record {
    Record { locked_until: Some(NOW), ..record(on_lapse, false) }
}

fn of(record: &Record) -> (Verdict, Next) {
    let diagnosis = diagnose(Some(record), |_| Comparison::Same, NOW);
    (diagnosis.verdict, diagnosis.next)
}

fn refused(code: &'static str) -> Next {
    Next::Refused { status: 409, code, retry_after: None }
}

const FOURTH: Next = Next::Runs { attempt: 4 };

#[test]
fn what_ended_is_replayed_or_tried_again() {
    let released = Record { released_at: Some(NOW), ..settled(Status::Failed, None, false) };
    let failed = |code, retry_failed| of(&settled(Status::Failed, code, retry_failed));
    let over = Record { expires_at: NOW, ..settled(Status::Succeeded, Some(201), false) };
    assert_eq!(
        of(&settled(Status::Succeeded, Some(201), false)),
        (Verdict::Replayable, Next::Replays { status: 201 })
    );
    assert_eq!(failed(Some(402), false), (Verdict::FailedRetryRequired, Next::Replays { status: 402 }));
    assert_eq!(failed(None, false), (Verdict::FailedRetryRequired, refused("IDEMPOTENCY_FAILED")));
    assert_eq!(failed(Some(402), true), (Verdict::FailedRetryable, FOURTH));
    assert_eq!(of(&released), (Verdict::Released, FOURTH));
    assert_eq!(of(&over), (Verdict::ExpiredReusable, FOURTH));
}

#[test]
fn a_live_lease_is_waited_for_and_then_refused_with_the_rest_of_it() {
    let diagnosis = diagnose(Some(&record(OnLapse::Rerun, false)), |_| Comparison::Same, NOW);
    let next = Next::Refused { status: 409, code: "IDEMPOTENCY_IN_PROGRESS", retry_after: Some(3) };
    assert_eq!((diagnosis.verdict, diagnosis.next), (Verdict::InProgress, next));
    assert_eq!(diagnosis.waits, Duration::from_secs(2));
}

#[test]
fn a_lapsed_lease_means_what_the_route_said() {
    assert_eq!(of(&lapsed(OnLapse::Rerun)), (Verdict::LeaseLapsed, FOURTH));
    assert_eq!(of(&lapsed(OnLapse::Recover)), (Verdict::LeaseLapsed, Next::Asks { attempt: 4 }));
    let unknown = (Verdict::OutcomeUnknown, refused("IDEMPOTENCY_OUTCOME_UNKNOWN"));
    assert_eq!(of(&lapsed(OnLapse::Refuse)), unknown);
    let marked = Record { outcome_unknown: true, ..lapsed(OnLapse::Refuse) };
    assert_eq!(of(&marked), unknown);
    let reason = |record| diagnose(Some(record), |_| Comparison::Same, NOW).reason;
    assert_ne!(reason(&marked), reason(&lapsed(OnLapse::Refuse)));
}

#[test]
fn another_request_and_an_unreadable_hash_are_refused() {
    let succeeded = settled(Status::Succeeded, Some(201), false);
    let other = diagnose(Some(&succeeded), |_| Comparison::Different, NOW);
    let conflict = Next::Refused { status: 422, code: "IDEMPOTENCY_KEY_CONFLICT", retry_after: None };
    assert_eq!((other.verdict, other.next), (Verdict::RequestHashConflict, conflict));
    let unknown = diagnose(Some(&succeeded), |_| Comparison::Unknown, NOW);
    let unavailable =
        Next::Refused { status: 503, code: "IDEMPOTENCY_STORE_UNAVAILABLE", retry_after: Some(1) };
    assert_eq!((unknown.verdict, unknown.next), (Verdict::UnknownFingerprint, unavailable));
}

#[test]
fn a_malformed_hash_of_a_request_is_not_compared() {
    let recorded = format!("v1:-:{}", "0".repeat(64));
    assert_eq!(compare_hashes(&recorded, "0000"), None);
    assert_eq!(compare_hashes(&recorded, &format!("v1:-:{}", "A".repeat(64))), None);
    assert_eq!(compare_hashes("v1:-:00", &recorded), Some(Comparison::Unknown));
}

#[test]
fn hashes_under_one_secret_are_compared_and_under_two_are_not() {
    let hash = |secret, digit: &str| format!("v1:{secret}:{}", digit.repeat(64));
    assert_eq!(compare_hashes(&hash("k1", "a"), &hash("k1", "a")), Some(Comparison::Same));
    assert_eq!(compare_hashes(&hash("k1", "a"), &hash("k1", "b")), Some(Comparison::Different));
    assert_eq!(compare_hashes(&hash("k1", "a"), &hash("k2", "a")), None);
}

#[test]
fn the_reason_of_a_lapse_says_whether_effects_can_be_left() {
    let reason = |record: &Record| diagnose(Some(record), |_| Comparison::Same, NOW).reason;
    let transactional = lapsed(OnLapse::Rerun);
    let mut external = lapsed(OnLapse::Rerun);
    external.terms.mode = Mode::External;
    assert!(reason(&transactional).contains("left no effects"));
    assert!(reason(&external).contains("stopped outside"));
}
