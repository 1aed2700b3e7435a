//! What is sealed opens at its own place with its own key, and nowhere else.

use std::time::Duration;

use uuid::Uuid;

use super::{AnswerKeys, AnswerKeysError, Binding, OpenError, Sealing};
use crate::key::{IdempotencyKey, RecordKey, Route, Scope};
use crate::policy::{Defaults, Mode, Policy};
use crate::record::{Answer, AnswerBody, Bindings, FencingToken, Record, Status, Timestamp};

fn record(tenant: &str, user: &str) -> Record {
    let key = RecordKey::new(
        Scope::new(tenant, user).unwrap(),
        Route::new("orders.create").unwrap(),
        IdempotencyKey::new("k1").unwrap(),
    );
    let at = Timestamp::from_micros(1);
    Record {
        key,
        request_hash: "v1:-:00".to_owned(),
        request_fields: None,
        status: Status::Succeeded,
        token: FencingToken { attempt: 1, claim_id: Uuid::from_u128(7) },
        revision: 2,
        answer: None,
        bindings: Bindings::default(),
        locked_until: None,
        expires_at: at.plus(Duration::from_secs(9)),
        terms: Policy::new("orders.create").unwrap().terms(Mode::External, &Defaults::default()).unwrap(),
        outcome_unknown: false,
        released_at: None,
        created_at: at,
        updated_at: at,
        completed_at: Some(at),
    }
}

fn sealing(id: &str, byte: u8) -> Sealing {
    Sealing::with(AnswerKeys::new(id, &[byte; 32]).unwrap())
}

fn answer(body: AnswerBody) -> Answer {
    let headers = vec![("link".to_owned(), (0..=255).collect()), ("link".to_owned(), b"b".to_vec())];
    Answer { code: 201, headers, content_type: Some("text/plain".to_owned()), body }
}

fn stored(sealing: &Sealing, mut record: Record, plain: &Answer) -> Record {
    let binding = Binding::answer(&record, record.status, plain.code);
    record.answer = Some(sealing.seal_answer(plain.clone(), &binding).unwrap());
    record
}

#[test]
fn a_sealed_answer_opens_byte_for_byte() {
    let sealing = sealing("k1", 1);
    for body in [AnswerBody::Kept((0..=255).collect()), AnswerBody::Kept(Vec::new()), AnswerBody::Omitted] {
        let plain = answer(body);
        let record = stored(&sealing, record("acme", "ann"), &plain);
        let kept = record.answer.as_ref().unwrap();
        assert!(kept.headers.is_empty() && kept.content_type.is_none(), "{kept:?}");
        let AnswerBody::Sealed(sealed) = &kept.body else { panic!("{kept:?}") };
        assert_eq!(sealed.bytes().len(), sealing.stored_bytes(&plain), "the limit is held to what is stored");
        assert_eq!(sealing.open_answer(&record).unwrap().unwrap(), plain);
    }
}

#[test]
fn one_answer_sealed_twice_shows_nothing_of_being_the_same() {
    let (sealing, plain) = (sealing("k1", 1), answer(AnswerBody::Kept(b"x".to_vec())));
    let twice = [(); 2].map(|()| stored(&sealing, record("acme", "ann"), &plain).answer);
    assert_ne!(twice[0], twice[1]);
}

#[test]
fn an_answer_does_not_open_in_another_row_attempt_or_status() {
    let sealing = sealing("k1", 1);
    let mine = stored(&sealing, record("a", "b:c"), &answer(AnswerBody::Kept(b"secret".to_vec())));
    let mut others = [("a:b", "c"), ("a", "b:C"), ("ab", ":c")].map(|(t, u)| record(t, u)).to_vec();
    let changed: [fn(&mut Record); 4] = [
        |record| record.token.attempt = 2,
        |record| record.token.claim_id = Uuid::from_u128(8),
        |record| record.status = Status::Failed,
        |record| record.answer.as_mut().unwrap().code = 200,
    ];
    for other in &mut others {
        other.answer.clone_from(&mine.answer);
    }
    for change in changed {
        let mut other = mine.clone();
        change(&mut other);
        others.push(other);
    }
    for other in others {
        let refused = OpenError::Refused { key_id: "k1".to_owned() };
        assert_eq!(sealing.open_answer(&other), Err(refused), "{other:?}");
    }
    assert!(sealing.open_answer(&mine).is_ok());
}

#[test]
fn after_a_rotation_new_answers_have_the_new_key_and_old_ones_open() {
    let plain = answer(AnswerBody::Kept(b"x".to_vec()));
    let old = stored(&sealing("2026-01", 1), record("acme", "ann"), &plain);
    let keys = AnswerKeys::new("2026-02", &[2; 32]).unwrap().also("2026-01", &[1; 32]).unwrap();
    let rotated = Sealing::with(keys);
    assert_eq!(rotated.open_answer(&old).unwrap().unwrap(), plain);
    let new = stored(&rotated, record("acme", "ann"), &plain);
    let unknown = OpenError::UnknownKey { key_id: "2026-02".to_owned() };
    assert_eq!(sealing("2026-01", 1).open_answer(&new), Err(unknown));
    let other_bytes = OpenError::Refused { key_id: "2026-02".to_owned() };
    assert_eq!(sealing("2026-02", 3).open_answer(&new), Err(other_bytes));
}

#[test]
fn without_keys_a_sealed_answer_is_refused_and_with_keys_a_plain_one_is_given() {
    let plain = answer(AnswerBody::Kept(b"x".to_vec()));
    let sealed = stored(&sealing("k1", 1), record("acme", "ann"), &plain);
    let unknown = OpenError::UnknownKey { key_id: "k1".to_owned() };
    assert_eq!(Sealing::default().open_answer(&sealed), Err(unknown));
    let unsealed = stored(&Sealing::default(), record("acme", "ann"), &plain);
    assert_eq!(unsealed.answer.as_ref(), Some(&plain));
    assert_eq!(sealing("k1", 1).open_answer(&unsealed).unwrap(), Some(plain));
}

#[test]
fn every_changed_byte_of_a_text_is_noticed() {
    let (sealing, binding) = (sealing("k1", 1), Binding::steps(&record("acme", "ann")));
    let text = sealing.seal_text(r#"{"charge":"secret"}"#.to_owned(), &binding).unwrap();
    assert!(!text.contains("secret"), "{text}");
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        let opened = sealing.open_text(changed.clone(), &binding);
        // Changed in its mark, it is a text of no kind, which is no JSON either.
        assert!(opened.is_err() || opened == Ok(changed.clone()) && at < 10, "{changed}");
    }
    assert!(sealing.open_text(text, &Binding::steps(&record("acme", "bob"))).is_err());
}

#[test]
fn ids_and_keys_that_cannot_be_used_are_refused() {
    for id in ["", "K1", "a:b", "ä", &"k".repeat(33)] {
        assert_eq!(AnswerKeys::new(id, &[1; 32]).unwrap_err(), AnswerKeysError::Id, "{id}");
    }
    assert_eq!(AnswerKeys::new("k", &[1; 33]).unwrap_err(), AnswerKeysError::Length { length: 33 });
    let twice = AnswerKeys::new("k", &[1; 32]).unwrap().also("k", &[2; 32]);
    assert_eq!(twice.unwrap_err(), AnswerKeysError::Twice { id: "k".to_owned() });
}

#[test]
fn the_debug_of_keys_shows_ids_alone() {
    let keys = AnswerKeys::new("k1", &[0xAB; 32]).unwrap();
    let shown = format!("{keys:?} {:?}", Sealing::with(keys.clone()));
    assert!(!shown.contains("171") && !shown.to_lowercase().contains("ab, ab"), "{shown}");
    assert!(shown.contains("k1"));
}
