//! A thief of the database cannot try out what a request may have been, unless he has the secret too.

use idem_runtime::fingerprint::{Comparison, Fingerprint};
use idem_runtime::{IdempotencyKey, Keyring, Mutation, RecordKey, Secret, Success};
use idem_tests::{Fixture, on_every_database, policy, scope};

/// All PINs there are.
fn dictionary() -> impl Iterator<Item = Fingerprint> {
    (0..10_000).map(|pin: u32| Fingerprint::of(&format!("{pin:04}")).unwrap())
}

async fn stored_hash<F: Fixture>(keyring: Keyring) -> String {
    let fixture = F::create().await;
    let guard = fixture.builder(2).await.keyring(keyring).build().await.unwrap();
    let key = IdempotencyKey::new("k").unwrap();
    let request = guard.request(scope(), key.clone()).of("4711").unwrap();
    guard
        .run(&policy(), request, async |_: &mut Mutation<F::S>| {
            Ok::<_, idem_runtime::Error>(Success::new(()))
        })
        .await
        .unwrap();
    let key = RecordKey::new(scope(), policy().route().clone(), key);
    guard.read(&key).await.unwrap().unwrap().record.request_hash
}

/// The guesses that a thief can confirm: by the plain hash, or by a keyed one with a secret of his own.
fn guessed(stored: &str, keyring: &Keyring) -> usize {
    let tag = stored.rsplit(':').next().unwrap().to_owned();
    let plain = Keyring::plain();
    dictionary()
        .filter(|guess| {
            plain.seal(guess).ends_with(&tag) || keyring.compare(guess, stored) == Comparison::Same
        })
        .count()
}

async fn a_keyed_fingerprint_cannot_be_tried_out_without_the_secret<F: Fixture>() {
    let secret = |byte| Keyring::new(Secret::new("s1", &[byte; 32]).unwrap());
    let stored = stored_hash::<F>(secret(1)).await;
    assert_eq!(guessed(&stored, &secret(2)), 0, "another secret with the same id");
    assert_eq!(guessed(&stored, &secret(1)), 1, "who has the secret finds the PIN");
    // What the secret is for: the plain hash gives the PIN away.
    let plain = stored_hash::<F>(Keyring::plain()).await;
    assert_eq!(guessed(&plain, &Keyring::plain()), 1);
    assert_ne!(stored.rsplit(':').next(), plain.rsplit(':').next());
}

on_every_database! { a_keyed_fingerprint_cannot_be_tried_out_without_the_secret }
