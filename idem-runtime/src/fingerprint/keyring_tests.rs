//! Tests of sealing and comparing.

use super::*;
use crate::fingerprint::FingerprintError;

fn secret(id: &str, byte: u8) -> Secret {
    Secret::new(id, &[byte; 32]).unwrap()
}

fn request() -> Fingerprint {
    Fingerprint::json(br#"{"a":1}"#).unwrap()
}

fn other() -> Fingerprint {
    Fingerprint::json(br#"{"a":2}"#).unwrap()
}

#[test]
fn a_record_is_compared_by_the_secret_it_names() {
    let old = Keyring::new(secret("k1", 1));
    let new = Keyring::new(secret("k2", 2)).accept(secret("k1", 1));
    for keyring in [&old, &new] {
        let stored = keyring.seal(&request());
        assert_eq!(new.compare(&request(), &stored), Comparison::Same);
        assert_eq!(new.compare(&other(), &stored), Comparison::Different);
    }
    assert_eq!(old.compare(&request(), &new.seal(&request())), Comparison::Unknown);
}

#[test]
fn a_plain_record_is_compared_under_a_secret_too() {
    let keyring = Keyring::new(secret("k1", 1));
    let stored = Keyring::plain().seal(&request());
    assert_eq!(keyring.compare(&request(), &stored), Comparison::Same);
    assert_eq!(keyring.compare(&other(), &stored), Comparison::Different);
}

#[test]
fn going_back_to_plain_still_reads_keyed_records() {
    let stored = Keyring::new(secret("k1", 1)).seal(&request());
    assert_eq!(Keyring::plain().compare(&request(), &stored), Comparison::Unknown);
    assert_eq!(Keyring::plain().accept(secret("k1", 1)).compare(&request(), &stored), Comparison::Same);
}

#[test]
fn other_bytes_under_a_known_id_are_another_request() {
    let stored = Keyring::new(secret("k1", 1)).seal(&request());
    let mistaken = Keyring::new(secret("k1", 9));
    assert_eq!(mistaken.compare(&request(), &stored), Comparison::Different);
    assert_eq!(mistaken.accept(secret("k1", 1)).compare(&request(), &stored), Comparison::Same);
}

#[test]
fn what_cannot_be_judged_is_unknown() {
    let keyring = Keyring::new(secret("k1", 1));
    let good = keyring.seal(&request());
    let plain = Keyring::plain().seal(&request());
    for stored in [
        String::new(),
        "v1".to_owned(),
        "v1:".to_owned(),
        "v1:-:".to_owned(),
        "v1:k1:".to_owned(),
        plain.replace("v1:", "v2:"),
        plain.replace("v1:", "V1:"),
        plain.replace(":-:", "::"),
        good.replace(":k1:", ":k9:"),
        good.to_uppercase(),
        format!("{good}00"),
        format!("{good} "),
        format!(" {good}"),
        format!("{good}:x"),
        good[..good.len() - 1].to_owned(),
        plain["v1:-:".len()..].to_owned(),
    ] {
        assert_eq!(keyring.compare(&request(), &stored), Comparison::Unknown, "{stored}");
    }
}

#[test]
fn upper_case_digits_are_malformed() {
    let stored = Keyring::plain().seal(&request());
    let upper = format!("v1:-:{}", stored["v1:-:".len()..].to_uppercase());
    assert_eq!(Keyring::plain().compare(&request(), &upper), Comparison::Unknown);
}

#[test]
fn a_secret_has_a_fitting_id_and_enough_bytes() {
    for id in ["a", "0123456789abcdef", "2026-01", "--", "-a"] {
        assert!(Secret::new(id, &[0; 32]).is_ok(), "{id}");
    }
    for id in ["", "-", "A", "a_b", "a:b", "ä", "0123456789abcdefg", "a "] {
        assert_eq!(Secret::new(id, &[0; 32]).unwrap_err(), FingerprintError::InvalidSecretId, "{id}");
    }
    assert_eq!(Secret::new("a", &[0; 31]).unwrap_err(), FingerprintError::SecretTooShort);
    assert!(Secret::new("a", &[0; 200]).is_ok());
}

#[test]
fn debug_shows_the_ids_and_nothing_else() {
    let keyring = Keyring::new(secret("k2", b'S')).accept(secret("k1", b'S'));
    let expected =
        r#"Keyring { secrets: Secrets { current: Some(Secret("k2")), accepted: [Secret("k1")] } }"#;
    assert_eq!(format!("{keyring:?}"), expected);
}
