//! What an application takes out of an answer is not stored, and a replay is without it.

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::{Answer, AnswerBody, Error, Route};
use idem_tests::{Fixture, on_every_database, policy, scope};

use crate::service::{app, send};
use crate::{CANARY, Guard, holds, keys, run};

const ANN: Option<(&str, &str)> = Some(("acme", "ann"));

async fn cookies_and_credentials_are_never_stored_or_replayed<F: Fixture>() {
    let fixture = F::create().await;
    let app = app::<F>(fixture.guard(2).await);
    let first = send(&app, "/issue", "k", ANN).await;
    let replay = send(&app, "/issue", "k", ANN).await;
    for name in ["set-cookie", "authorization", "x-token"] {
        assert!(first.headers.contains_key(name) && !replay.headers.contains_key(name), "{name}");
    }
    assert!(replay.is_replay() && replay.headers.contains_key("link"));
}

fn redact(route: &Route, answer: &mut Answer) {
    answer.code = 500;
    answer.headers.retain(|(name, _)| name != "link");
    let text = format!("no token of {route} is shown twice");
    answer.body = AnswerBody::Kept(text.into_bytes());
}

async fn a_redacted_answer_is_what_is_stored_and_replayed<F: Fixture>() {
    for sealed in [false, true] {
        let fixture = F::create().await;
        let mut builder = fixture.builder(2).await.redact(redact);
        if sealed {
            builder = builder.encryption(keys("k1", 1));
        }
        let guard: Guard<F> = builder.build().await.unwrap();
        let app = app::<F>(guard.clone());
        for (path, status, route) in [("/issue", 201, "tokens.issue"), ("/refuse", 402, "tokens.refuse")] {
            let first = send(&app, path, "k", ANN).await;
            assert!(first.text().contains(CANARY), "the first caller gets all of it");
            let replay = send(&app, path, "k", ANN).await;
            assert_eq!((first.status, replay.status, replay.is_replay()), (status, status, true));
            assert_eq!(replay.text(), format!("no token of {route} is shown twice"));
            assert!(!replay.headers.contains_key("link"));
        }
        let cells = F::cells(guard.pool()).await;
        assert!(!cells.iter().any(|cell| holds(cell, CANARY)));
        assert_eq!(F::effects(guard.pool(), "issued").await, 1);
    }
}

async fn a_redaction_that_panics_leaves_nothing_stored_and_no_record_stuck<F: Fixture>() {
    let fixture = F::create().await;
    let builder = fixture.builder(2).await.redact(|_: &Route, _: &mut Answer| panic!("as the test wants"));
    let guard = builder.build().await.unwrap();
    let (policy, scope, ran) = (policy(), scope(), AtomicU32::new(0));
    let refused = run::<F>(&guard, &policy, (&scope, "k"), CANARY, &ran).await.unwrap_err();
    assert!(matches!(refused, Error::AnswerNotRecordable { .. }), "{refused}");
    assert!(matches!(run::<F>(&guard, &policy, (&scope, "k"), CANARY, &ran).await, Err(Error::Failed)));
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    let cells = F::cells(guard.pool()).await;
    assert!(!cells.iter().any(|cell| holds(cell, CANARY)));
}

on_every_database! {
    cookies_and_credentials_are_never_stored_or_replayed,
    a_redacted_answer_is_what_is_stored_and_replayed,
    a_redaction_that_panics_leaves_nothing_stored_and_no_record_stuck,
}
