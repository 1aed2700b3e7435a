//! Keys come and go: what they sealed opens as long as they are there, and nothing runs again when they are not.

use std::sync::atomic::{AtomicU32, Ordering};

use idem_runtime::encryption::OpenError;
use idem_runtime::{AnswerBody, Error, RecordKey};
use idem_tests::{Fixture, key, on_every_database, policy, scope};

use crate::service::{app, send};
use crate::{Guard, keys, run};

async fn sealed_with<F: Fixture>(guard: &Guard<F>, name: &str) -> Option<String> {
    let key = RecordKey::new(scope(), policy().route().clone(), key(name));
    match guard.read(&key).await.unwrap().unwrap().record.answer.unwrap().body {
        AnswerBody::Sealed(sealed) => Some(sealed.key_id().to_owned()),
        _ => None,
    }
}

async fn answers_of_before_and_after_a_rotation_are_replayed<F: Fixture>() {
    let fixture = F::create().await;
    let (policy, scope, ran) = (policy(), scope(), AtomicU32::new(0));
    let plain = fixture.guard(2).await;
    let old = fixture.builder(2).await.encryption(keys("old", 1)).build().await.unwrap();
    let both = keys("new", 2).also("old", &[1; 32]).unwrap();
    let new = fixture.builder(2).await.encryption(both).build().await.unwrap();
    for (guard, name) in [(&plain, "plain"), (&old, "old"), (&new, "new")] {
        run::<F>(guard, &policy, (&scope, name), name, &ran).await.unwrap();
        let sealed = (name != "plain").then(|| name.to_owned());
        assert_eq!(sealed_with::<F>(guard, name).await, sealed);
    }
    for name in ["plain", "old", "new"] {
        let again = run::<F>(&new, &policy, (&scope, name), "again", &ran).await.unwrap();
        assert_eq!((again.value().as_str(), again.is_replay()), (name, true));
    }
    assert_eq!(ran.load(Ordering::SeqCst), 3);
}

async fn an_answer_whose_key_is_missing_is_an_error_and_never_a_second_run<F: Fixture>() {
    let fixture = F::create().await;
    let (policy, scope, ran) = (policy().retry_failed(true), scope(), AtomicU32::new(0));
    let sealing = fixture.builder(2).await.encryption(keys("lost", 1)).build().await.unwrap();
    run::<F>(&sealing, &policy, (&scope, "k"), "secret", &ran).await.unwrap();
    let plain = fixture.guard(2).await;
    let other = fixture.builder(2).await.encryption(keys("other", 1)).build().await.unwrap();
    for guard in [&plain, &other] {
        let refused = run::<F>(guard, &policy, (&scope, "k"), "again", &ran).await.unwrap_err();
        assert!(
            matches!(&refused, Error::Sealed(OpenError::UnknownKey { key_id }) if key_id == "lost"),
            "{refused}"
        );
    }
    let imposter = fixture.builder(2).await.encryption(keys("lost", 9)).build().await.unwrap();
    let refused = run::<F>(&imposter, &policy, (&scope, "k"), "again", &ran).await.unwrap_err();
    assert!(matches!(&refused, Error::Sealed(OpenError::Refused { .. })), "{refused}");
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    assert_eq!(run::<F>(&sealing, &policy, (&scope, "k"), "again", &ran).await.unwrap().value(), "secret");
}

async fn a_client_is_told_which_key_the_service_lacks<F: Fixture>() {
    let fixture = F::create().await;
    let ann = Some(("acme", "ann"));
    let sealing = fixture.builder(2).await.encryption(keys("2026-01", 1)).build().await.unwrap();
    assert_eq!(send(&app::<F>(sealing), "/issue", "k", ann).await.status, 201);
    let blind = fixture.guard(2).await;
    let refused = send(&app::<F>(blind.clone()), "/issue", "k", ann).await;
    assert_eq!((refused.status, refused.code().as_str()), (500, "IDEMPOTENCY_ANSWER_SEALED"));
    assert!(refused.text().contains("`2026-01`"), "{}", refused.text());
    assert!(!refused.is_replay());
    assert_eq!(F::effects(blind.pool(), "issued").await, 1);
}

on_every_database! {
    answers_of_before_and_after_a_rotation_are_replayed,
    an_answer_whose_key_is_missing_is_an_error_and_never_a_second_run,
    a_client_is_told_which_key_the_service_lacks,
}
