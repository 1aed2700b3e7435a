//! Nobody gets the answer of another, however the names are written; a key that somebody else took is no obstacle.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::{KeyError, Scope};
use idem_tests::{Fixture, on_every_database, policy};

use crate::service::{app, send, send_body};
use crate::{CANARY, run};

/// Tenants and users that a database could take for one another: joined, folded, trimmed, composed, or cut.
fn look_alikes() -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = [
        ("a", "b"),
        ("a:b", "c"),
        ("a", "b:c"),
        ("a:", "b:c"),
        ("a\u{1f}b", "c"),
        ("a/b", "c"),
        ("a", "b/c"),
        ("a", "b "),
        ("a ", "b"),
        (" a", "b"),
        ("a", "b\u{a0}"),
        ("a", "b\u{200b}"),
        ("a", "b\u{3000}"),
        ("A", "b"),
        ("a", "B"),
        ("a", "stra\u{df}e"),
        ("a", "strasse"),
        ("a", "STRASSE"),
        ("a", "\u{131}"),
        ("a", "i"),
        ("a", "\u{130}"),
        ("a", "\u{e9}"),
        ("a", "e\u{301}"),
        ("a", "e"),
        ("a", "\u{c9}"),
        ("a", "\u{fb01}"),
        ("a", "fi"),
        ("a", "\u{212b}"),
        ("a", "\u{c5}"),
        ("a", "\u{430}dmin"),
        ("a", "admin"),
        ("a", "\u{ff41}dmin"),
        ("a", "\u{202e}admin"),
        ("a", "ad\u{ad}min"),
        ("a", "\u{1f4a9}"),
        ("a", "\u{1f4a8}"),
        ("a", "\u{fffd}"),
        ("a", "%"),
        ("a", "_"),
        ("a", "b%00"),
        ("a", "b\\0"),
        ("a", "null"),
        ("null", "b"),
        ("a", "'; DROP TABLE idempotency_records; --"),
    ]
    .map(|(tenant, user)| (tenant.to_owned(), user.to_owned()))
    .to_vec();
    for length in [254, 255] {
        pairs.push(("a".to_owned(), "u".repeat(length)));
        pairs.push(("u".repeat(length), "a".to_owned()));
    }
    // The same but for the last byte of the longest.
    pairs.push(("a".to_owned(), format!("{}v", "u".repeat(254))));
    pairs
}

async fn users_whose_names_look_alike_share_nothing<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let (policy, ran) = (policy(), AtomicU32::new(0));
    let mut scopes = Vec::new();
    for (tenant, user) in look_alikes() {
        match Scope::new(&tenant, &user) {
            Ok(scope) => scopes.push(scope),
            Err(error) => assert!(matches!(error, KeyError::Character { .. }), "{error}"),
        }
    }
    assert_eq!(
        scopes.len(),
        look_alikes().iter().collect::<HashSet<_>>().len() - 1,
        "one has a control character"
    );
    for (number, scope) in scopes.iter().enumerate() {
        let own = run::<F>(&guard, &policy, (scope, "k"), &number.to_string(), &ran).await.unwrap();
        assert!(!own.is_replay(), "{scope:?} got the answer of number {}", own.value());
    }
    for (number, scope) in scopes.iter().enumerate() {
        let again = run::<F>(&guard, &policy, (scope, "k"), "again", &ran).await.unwrap();
        assert_eq!((again.value(), again.is_replay()), (&number.to_string(), true), "{scope:?}");
    }
    assert_eq!(ran.load(Ordering::SeqCst) as usize, scopes.len());
}

#[test]
fn names_that_no_database_holds_alike_are_refused() {
    for bad in ["", "a\0", "\0", "a\u{7f}", "a\n", "a\u{85}", &"u".repeat(256), &"\u{e9}".repeat(128)] {
        assert!(Scope::new("acme", bad).is_err() && Scope::new(bad, "ann").is_err(), "{bad:?}");
    }
}

async fn a_key_that_another_user_took_first_is_no_obstacle<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let app = app::<F>(guard.clone());
    // The squatter guesses the key of ann and asks for something else under it, and in another tenant.
    for squatter in [("acme", "mallory"), ("evil", "ann")] {
        let body = r#"{"secret":"mine"}"#;
        let taken = send_body(&app, "/issue", "order-1", Some(squatter), body).await;
        assert_eq!((taken.status, taken.is_replay()), (201, false));
    }
    let ann = send(&app, "/issue", "order-1", Some(("acme", "ann"))).await;
    assert_eq!((ann.status, ann.is_replay()), (201, false), "{}", ann.text());
    assert!(ann.text().contains(CANARY));
    assert_eq!(F::effects(guard.pool(), "issued").await, 3);
}

async fn a_replay_needs_a_login_and_another_login_gets_nothing_of_it<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    let app = app::<F>(guard.clone());
    let first = send(&app, "/issue", "k", Some(("acme", "ann"))).await;
    assert!(first.text().contains(CANARY));
    let nobody = send(&app, "/issue", "k", None).await;
    assert_eq!((nobody.status, nobody.is_replay()), (401, false));
    assert!(!nobody.text().contains(CANARY));
    for other in [("acme", "bob"), ("other", "ann"), ("ann", "acme")] {
        let body = r#"{"secret":"nothing"}"#;
        let answer = send_body(&app, "/issue", "k", Some(other), body).await;
        assert_eq!((answer.status, answer.text(), answer.is_replay()), (201, "your token is nothing", false));
    }
    // A conflict gives nothing of what is stored either.
    let conflict = send_body(&app, "/issue", "k", Some(("acme", "ann")), r#"{"secret":"other"}"#).await;
    assert_eq!((conflict.status, conflict.code().as_str()), (422, "IDEMPOTENCY_KEY_CONFLICT"));
    assert!(!conflict.text().contains(CANARY) && !conflict.text().contains("secret"));
}

on_every_database! {
    users_whose_names_look_alike_share_nothing,
    a_key_that_another_user_took_first_is_no_obstacle,
    a_replay_needs_a_login_and_another_login_gets_nothing_of_it,
}
