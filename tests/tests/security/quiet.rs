//! What is traced at the finest level, and what errors and `Debug` show: nothing that a client sent or got.

use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use idem_runtime::outbox::Event;
use idem_runtime::{
    Answer, Claim, Error, Fingerprint, IdempotencyKey, Keyring, Mutation, RecordKey, Scope, Secret, Success,
};
use idem_tests::{Fixture, OnSqlite, policy};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;

use crate::service::{app, send};
use crate::{CANARY, keys, run};

/// What was traced so far.
#[derive(Clone, Default)]
struct Traced(Arc<Mutex<Vec<u8>>>);

impl io::Write for Traced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Traced {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Tenant, user, key, body, answer and header all hold the canary here; the other tests run beside it.
#[tokio::test(flavor = "current_thread")]
async fn the_finest_level_shows_nothing_of_a_request_but_its_hash() {
    let traced = Traced::default();
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_span_events(FmtSpan::FULL)
        .with_writer(traced.clone());
    let targets = tracing_subscriber::filter::Targets::new()
        .with_target("idem_runtime", LevelFilter::TRACE)
        .with_target("sqlx", LevelFilter::TRACE);
    let _here = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer).with(targets));
    let fixture = OnSqlite::create().await;
    let guard = fixture.builder(2).await.encryption(keys("k1", 1)).build().await.unwrap();
    let app = app::<OnSqlite>(guard.clone());
    let user = Some((CANARY, CANARY));
    for path in ["/issue", "/issue", "/refuse", "/step", "/step"] {
        send(&app, path, CANARY, user).await;
    }
    // Errors on the way: a conflict, a missing key, and a store that is gone.
    crate::service::send_body(&app, "/issue", CANARY, user, r#"{"secret":"x"}"#).await;
    let blind = crate::service::app::<OnSqlite>(fixture.guard(2).await);
    send(&blind, "/issue", CANARY, user).await;
    let mut connection = guard.pool().acquire().await.unwrap();
    OnSqlite::execute(&mut connection, "DROP TABLE idempotency_records").await.unwrap();
    drop(connection);
    let gone = send(&app, "/issue", CANARY, user).await;
    assert!(!gone.text().contains(CANARY), "{}", gone.text());
    let text = String::from_utf8(traced.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("idem.claim") && text.contains("request_hash"), "{text}");
    assert!(text.contains("cannot be opened") && text.contains("the idempotency store failed"), "{text}");
    assert!(!text.contains(CANARY), "{text}");
}

#[tokio::test]
async fn the_debug_of_public_types_shows_no_payload_no_answer_and_no_secret() {
    let fixture = OnSqlite::create().await;
    let secret: Vec<u8> = CANARY.bytes().cycle().take(32).collect();
    let keyring = Keyring::new(Secret::new("s1", &secret).unwrap());
    let builder = fixture.builder(2).await.keyring(keyring.clone());
    let keys = idem_runtime::encryption::AnswerKeys::new("k1", &secret).unwrap();
    let plain = fixture.guard(2).await;
    let (policy, scope) = (policy(), Scope::new("acme", "ann").unwrap());
    run::<OnSqlite>(&plain, &policy, (&scope, "k"), CANARY, &AtomicU32::new(0)).await.unwrap();
    let key = RecordKey::new(scope.clone(), policy.route().clone(), IdempotencyKey::new("k").unwrap());
    let reading = plain.read(&key).await.unwrap().unwrap();
    let answer = Answer {
        headers: vec![("link".to_owned(), CANARY.as_bytes().to_vec())],
        ..Answer::json(200, CANARY.as_bytes().to_vec())
    };
    let request = plain.request(scope, IdempotencyKey::new("k2").unwrap()).of(CANARY).unwrap();
    let shown = [
        format!("{reading:?}"),
        format!("{answer:?}"),
        format!("{request:?}"),
        format!("{:?}", Fingerprint::of(CANARY).unwrap()),
        format!("{:?}", Event::new("a.b", 1, CANARY).header("h", CANARY)),
        format!("{keyring:?} {keys:?} {builder:?}"),
        format!("{:?}", builder.encryption(keys.clone()).build().await.unwrap()),
    ];
    let numbers = format!("{:?}", CANARY.as_bytes());
    let numbers = numbers.trim_matches(['[', ']']);
    for shown in shown {
        assert!(!shown.contains(CANARY) && !shown.contains(numbers), "{shown}");
    }
    let outside = async |claim: &Claim<sqlx::Sqlite>| {
        let _: String = claim.step("s", async |_| Ok::<_, Error>(CANARY.to_owned())).await?;
        assert!(!format!("{claim:?}").contains(CANARY));
        Ok::<_, Error>(Success::new(()))
    };
    plain.run_external(&policy, request.clone(), outside).await.unwrap();
    let other = plain.request(Scope::new("acme", "bob").unwrap(), IdempotencyKey::new("k2").unwrap());
    let inside = async |mutation: &mut Mutation<sqlx::Sqlite>| {
        assert!(!format!("{mutation:?}").contains(CANARY));
        Ok::<_, Error>(Success::new(()))
    };
    plain.run(&policy, other.of(CANARY).unwrap(), inside).await.unwrap();
}

/// Of stored JSON that does not fit, serde would say: invalid type: string "canary", expected u32.
#[tokio::test]
async fn an_answer_or_a_step_of_another_type_is_refused_without_being_shown() {
    let fixture = OnSqlite::create().await;
    let (guard, policy) = (fixture.guard(2).await, policy().retry_failed(true));
    let scope = Scope::new("acme", "ann").unwrap();
    run::<OnSqlite>(&guard, &policy, (&scope, "k"), CANARY, &AtomicU32::new(0)).await.unwrap();
    let request = |key| guard.request(scope.clone(), IdempotencyKey::new(key).unwrap()).of("book").unwrap();
    let number = async |_: &mut Mutation<sqlx::Sqlite>| Ok::<_, Error>(Success::new(7_u32));
    let mut shown = vec![guard.run(&policy, request("k"), number).await.unwrap_err()];
    for attempt in 0..2 {
        let steps = guard.run_external(&policy, request("steps"), async |claim: &Claim<sqlx::Sqlite>| {
            if attempt == 0 {
                let _: String = claim.step("s", async |_| Ok::<_, Error>(CANARY.to_owned())).await?;
                return Err(Error::Failed);
            }
            claim.step("s", async |_| Ok::<_, Error>(7_u32)).await.map(Success::new)
        });
        shown.push(steps.await.unwrap_err());
    }
    assert!(
        matches!(shown[0], Error::ReplayUnreadable { .. })
            && matches!(shown[2], Error::ReplayUnreadable { .. })
    );
    assert!(!format!("{shown:?} {} {}", shown[0], shown[2]).contains(CANARY), "{shown:?}");
}

/// The password of a database whose server is not there.
#[tokio::test]
async fn the_error_of_a_guard_that_cannot_be_built_has_no_password() {
    async fn fails<S: idem_runtime::store::Store>(pool: sqlx::Pool<S>) {
        let error = idem_runtime::IdempotencyMutationGuard::builder(pool).build().await.unwrap_err();
        let mut shown = format!("{error} {error:?}");
        let mut source = std::error::Error::source(&error);
        while let Some(error) = source {
            shown.push_str(&error.to_string());
            source = error.source();
        }
        assert!(!shown.contains(CANARY), "{shown}");
    }
    let patience = std::time::Duration::from_millis(300);
    #[cfg(feature = "postgres")]
    {
        let options = sqlx::postgres::PgPoolOptions::new().acquire_timeout(patience);
        fails(options.connect_lazy(&format!("postgres://ann:{CANARY}@127.0.0.1:1/x")).unwrap()).await;
    }
    #[cfg(feature = "mysql")]
    {
        let options = sqlx::mysql::MySqlPoolOptions::new().acquire_timeout(patience);
        fails(options.connect_lazy(&format!("mysql://ann:{CANARY}@127.0.0.1:1/x")).unwrap()).await;
    }
    let options = sqlx::sqlite::SqlitePoolOptions::new().acquire_timeout(patience);
    fails(options.connect_lazy("sqlite:/nowhere/at/all").unwrap()).await;
}
