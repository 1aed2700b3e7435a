//! What a flood is refused; each limit stands in docs/security.md.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::{Claim, Error, Mutation, Success};
use idem_tests::{Fixture, key, on_every_database, policy, scope};

use crate::service::{app, send, send_body};
use crate::{Guard, keys, run};

const ANN: Option<(&str, &str)> = Some(("acme", "ann"));
const HOUR: Duration = Duration::from_hours(1);

async fn records<F: Fixture>(guard: &Guard<F>) -> i64 {
    let mut connection = guard.pool().acquire().await.unwrap();
    F::number(&mut connection, "SELECT count(*) FROM idempotency_records").await.unwrap()
}

async fn a_key_or_a_body_over_its_limit_leaves_no_record<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.guard(2).await;
    let app = app::<F>(guard.clone());
    let long = send(&app, "/issue", &"k".repeat(256), ANN).await;
    assert_eq!((long.status, long.code().as_str()), (400, "IDEMPOTENCY_KEY_INVALID"));
    let large = format!(r#"{{"secret":"{}"}}"#, "x".repeat(2 * 1024 * 1024));
    assert_eq!(send_body(&app, "/issue", "k", ANN, large).await.status, 413);
    assert_eq!(records::<F>(&guard).await, 0);
    assert_eq!(send(&app, "/issue", &"k".repeat(255), ANN).await.status, 201);
}

async fn the_limit_of_an_answer_is_held_to_what_is_stored<F: Fixture>() {
    let fixture = F::create().await;
    let (policy, scope, ran) = (policy(), scope(), AtomicU32::new(0));
    // In JSON it has 100 bytes, and sealed with its frame more than that.
    let text = "x".repeat(98);
    let builder = async || fixture.builder(2).await.max_answer_bytes(100);
    let plain = builder().await.build().await.unwrap();
    run::<F>(&plain, &policy, (&scope, "plain"), &text, &ran).await.unwrap();
    let sealing = builder().await.encryption(keys("k1", 1)).build().await.unwrap();
    let refused = run::<F>(&sealing, &policy, (&scope, "sealed"), &text, &ran).await;
    assert!(matches!(refused, Err(Error::AnswerNotRecordable { .. })), "{refused:?}");
}

async fn one_duplicate_more_than_may_wait_is_told_to_come_again<F: Fixture>() {
    for (in_all, on_one_key) in [(1, 9), (9, 1)] {
        let fixture = F::create().await;
        let guard = fixture.builder(4).await.max_waiters(in_all, on_one_key).build().await.unwrap();
        let duplicate = || {
            let guard = guard.clone();
            tokio::spawn(async move {
                let request = guard.request(scope(), key("k")).of("book").unwrap();
                let body = async |_: &Claim<F::S>| Ok::<_, Error>(Success::new(0));
                guard.run_external(&policy().wait(HOUR), request, body).await
            })
        };
        let waiting = std::sync::Mutex::new(None);
        let request = guard.request(scope(), key("k")).of("book").unwrap();
        let first = guard.run_external(&policy(), request, async |_: &Claim<F::S>| {
            // Of two that come one waits and the other is told at once; which of them is chance.
            let (mut one, mut other) = (duplicate(), duplicate());
            let (told, waits) = tokio::select! {
                told = &mut one => (told, other),
                told = &mut other => (told, one),
                () = tokio::time::sleep(Duration::from_secs(30)) => panic!("both wait"),
            };
            let told = told.unwrap();
            assert!(matches!(told, Err(Error::InProgress { .. })), "{told:?}");
            *waiting.lock().unwrap() = Some(waits);
            Ok::<_, Error>(Success::new(7))
        });
        assert_eq!(first.await.unwrap().value(), &7);
        let waiting = waiting.lock().unwrap().take().unwrap();
        assert_eq!(waiting.await.unwrap().unwrap().value(), &7);
    }
}

async fn a_user_who_begins_too_much_is_refused_and_others_and_retries_are_not<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.builder(4).await.max_new_records_per_user(2, HOUR).build().await.unwrap();
    let app = app::<F>(guard.clone());
    let ann = Some(("acme", "ann"));
    assert_eq!(send(&app, "/issue", "a", ann).await.status, 201);
    for _ in 0..5 {
        assert!(send(&app, "/issue", "a", ann).await.is_replay(), "a retry costs nothing");
    }
    assert_eq!(send(&app, "/step", "b", ann).await.status, 409, "its first attempt fails");
    let refused = send(&app, "/issue", "c", ann).await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "IDEMPOTENCY_TOO_MANY_REQUESTS"));
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=1800).contains(&wait), "{wait}");
    assert_eq!((records::<F>(&guard).await, F::effects(guard.pool(), "issued").await), (2, 1));
    assert!(send(&app, "/issue", "a", ann).await.is_replay());
    assert_eq!(send(&app, "/step", "b", ann).await.status, 200, "a failed attempt may be repeated");
    assert_eq!(send(&app, "/issue", "c", Some(("acme", "bob"))).await.status, 201);
    assert_eq!(send(&app, "/issue", "c", Some(("other", "ann"))).await.status, 201);
}

async fn operations_inside_one_that_was_let_through_do_not_count<F: Fixture>() {
    let fixture = F::create().await;
    let guard = fixture.builder(4).await.max_new_records_per_user(1, HOUR).build().await.unwrap();
    let (policy, ran) = (policy(), AtomicU32::new(0));
    let request = guard.request(scope(), key("k")).of("book").unwrap();
    let parent = guard.run_external(&policy, request, async |claim: &Claim<F::S>| {
        for line in ["line-1", "line-2"] {
            let line = claim.child(line).of(line)?;
            let body = async |_: &mut Mutation<F::S>| {
                ran.fetch_add(1, Ordering::SeqCst);
                Ok::<_, Error>(Success::new(()))
            };
            guard.run(&policy, line, body).await?;
        }
        Ok::<_, Error>(Success::new(()))
    });
    parent.await.unwrap();
    assert_eq!(ran.load(Ordering::SeqCst), 2);
}

on_every_database! {
    a_key_or_a_body_over_its_limit_leaves_no_record,
    the_limit_of_an_answer_is_held_to_what_is_stored,
    one_duplicate_more_than_may_wait_is_told_to_come_again,
    a_user_who_begins_too_much_is_refused_and_others_and_retries_are_not,
    operations_inside_one_that_was_let_through_do_not_count,
}
