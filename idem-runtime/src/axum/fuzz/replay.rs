//! Answers: what is kept of one, stored and read again, is the same answer; what is not kept never comes back.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt;

use super::problem::at_once;
use crate::axum::answer::{KEPT, REPLAYED, STATUS, keep, replay as replayed};
use crate::key::RecordKey;
use crate::policy::{Defaults, Mode, Policy};
use crate::record::{Answer, AnswerBody, Bindings, FencingToken, Record, Status, Timestamp};
use crate::store::headers_stored_and_read;

/// Named by the route.
const ALSO: &str = "x-kept";
/// Never kept, and headers that only a replay has.
const OTHERS: [HeaderName; 6] =
    [header::SET_COOKIE, header::DATE, header::CONNECTION, header::TRAILER, REPLAYED, STATUS];
const LIMIT: usize = 64;

/// The first line is the status and a byte more; then one header per line, its name chosen by the first byte;
/// after an empty line comes the body.
///
/// # Panics
///
/// When a replay differs from the first answer.
pub fn replay(input: &[u8]) {
    let Some((head, body)) = split(input, b"\n\n") else { return };
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let number =
        first.iter().fold(0_u16, |number, byte| number.wrapping_mul(31).wrapping_add((*byte).into()));
    let Ok(status) = StatusCode::from_u16(100 + number % 900) else { return };
    let mut response = Response::new(Body::from(body.to_vec()));
    *response.status_mut() = status;
    for line in lines {
        let Some((name, value)) = line.split_first() else { continue };
        if let Ok(value) = HeaderValue::from_bytes(value) {
            response.headers_mut().append(name_of(*name), value);
        }
    }
    let sent = response.headers().clone();
    let Some(Ok((response, answer))) = keep(response, &[ALSO], fits).now_or_never() else {
        panic!("a body that is there can be kept");
    };
    assert_eq!(at_once(response.into_body()), body, "the first caller gets every byte");
    let headers = headers_stored_and_read(&answer.headers);
    let again = replayed(record(Answer { headers, ..answer })).expect("what was kept can be given");
    check(&sent, status, body, again);
    hostile(head, body);
}

fn fits(answer: &Answer) -> bool {
    matches!(&answer.body, AnswerBody::Kept(body) if body.len() <= LIMIT)
}

fn check(sent: &HeaderMap, status: StatusCode, body: &[u8], again: Response) {
    let got = again.headers();
    assert_eq!((again.status(), &got[REPLAYED]), (status, &HeaderValue::from_static("true")));
    for name in KEPT.iter().chain([&HeaderName::from_static(ALSO)]) {
        assert!(got.get_all(name).iter().eq(sent.get_all(name)), "{name}: {sent:?} and {got:?}");
    }
    assert_eq!(got.get(header::CONTENT_TYPE), sent.get(header::CONTENT_TYPE));
    for name in OTHERS.iter().filter(|name| **name != REPLAYED) {
        assert!(!got.contains_key(name), "{name} comes back");
    }
    let omitted = got.get("idempotent-replay-body").is_some();
    assert_eq!(omitted, body.len() > LIMIT);
    assert_eq!(at_once(again.into_body()), if omitted { &[] } else { body });
}

/// A row that somebody else wrote: it is given or refused, and nothing breaks.
fn hostile(head: &[u8], body: &[u8]) {
    let text = String::from_utf8_lossy(head).into_owned();
    let code = u16::try_from(head.len() * 7 % 1200).expect("it is small");
    let headers = vec![(text.clone(), body.to_vec())];
    let body = AnswerBody::Kept(body.to_vec());
    let answer = Answer { code, headers, content_type: Some(text), body };
    if let Some(response) = replayed(record(answer)) {
        assert_eq!(response.status().as_u16(), code);
    }
}

fn name_of(byte: u8) -> HeaderName {
    let names: Vec<HeaderName> = KEPT.iter().chain(&OTHERS).cloned().collect();
    match usize::from(byte) % (names.len() + 2) {
        0 => header::CONTENT_TYPE,
        1 => HeaderName::from_static(ALSO),
        other => names[other - 2].clone(),
    }
}

fn split<'a>(input: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let found = input.windows(at.len()).position(|window| window == at)?;
    Some((&input[..found], &input[found + at.len()..]))
}

fn record(answer: Answer) -> Record {
    let now = Timestamp::from_micros(0);
    let policy = Policy::new("fuzz").expect("a route");
    Record {
        key: RecordKey::stored("t", "u", "fuzz", "k").expect("a key"),
        request_hash: String::new(),
        request_fields: None,
        status: Status::Succeeded,
        token: FencingToken { attempt: 1, claim_id: uuid::Uuid::nil() },
        revision: 1,
        answer: Some(answer),
        bindings: Bindings::default(),
        locked_until: None,
        expires_at: now,
        terms: policy.terms(Mode::Transactional, &Defaults::default()).expect("terms"),
        outcome_unknown: false,
        released_at: None,
        created_at: now,
        updated_at: now,
        completed_at: Some(now),
    }
}
