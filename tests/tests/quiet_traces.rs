//! What is traced at the level `info`: routes, attempts and outcomes, never who asks, with which key, or for what.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use idem_runtime::{Claim, Error, IdempotencyKey, Mutation, OnLapse, Recovery, Scope, Success};
use idem_tests::{Fixture, OnSqlite, policy};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;

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

impl Traced {
    /// Everything of the runtime at `info` and above; each span shows its fields when it closes.
    fn begin() -> Self {
        let traced = Self::default();
        let targets =
            tracing_subscriber::filter::Targets::new().with_target("idem_runtime", LevelFilter::INFO);
        let layer = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_span_events(FmtSpan::CLOSE)
            .with_writer(traced.clone());
        let subscriber = tracing_subscriber::registry().with(layer).with(targets);
        tracing::subscriber::set_global_default(subscriber).unwrap();
        traced
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

type S = <OnSqlite as Fixture>::S;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_say_route_attempt_and_outcome_and_nothing_of_the_client() {
    let traced = Traced::begin();
    let fixture = OnSqlite::create().await;
    let guard = fixture.builder(2).await.statement_timeout(Duration::from_millis(200)).build().await.unwrap();
    let request = |key: &str, body: &str| {
        let scope = Scope::new("secret-tenant", "secret-user").unwrap();
        guard.request(scope, IdempotencyKey::new(key).unwrap()).of(body).unwrap()
    };
    let policy = policy();
    for (key, body, answer) in [
        ("secret-key-1", "secret-body", Ok("secret-answer")),
        ("secret-key-1", "secret-body", Ok("secret-answer")),
        ("secret-key-1", "secret-other", Ok("secret-answer")),
        ("secret-key-2", "secret-body", Err(Error::Lost)),
        ("secret-key-2", "secret-body", Err(Error::Lost)),
    ] {
        let run = async |_: &mut Mutation<S>| answer.map(|answer| Success::new(answer.to_owned()));
        let _ = guard.run(&policy, request(key, body), run).await;
    }
    let panic = async |_: &mut Mutation<S>| -> Result<Success<()>, Error> { panic!("secret-panic") };
    let panicked = AssertUnwindSafe(guard.run(&policy, request("secret-key-3", "secret-body"), panic));
    assert!(panicked.catch_unwind().await.is_err());
    // Left half-way, and then nobody knows.
    let doubtful = policy.clone().on_lapse(OnLapse::Recover);
    let begun = tokio::sync::Notify::new();
    let left = guard.run_external(&doubtful, request("secret-key-4", "secret-body"), async |_: &Claim<S>| {
        begun.notify_one();
        std::future::pending::<Result<Success<()>, Error>>().await
    });
    tokio::select! {
        _ = left => unreachable!("it never ends"),
        () = begun.notified() => {}
    }
    assert!(guard.drain(Duration::from_mins(1)).await);
    let ask = async |claim: &Claim<S>| {
        claim.recover(async { Recovery::<()>::Unknown }).await?;
        Ok::<_, Error>(Success::new(()))
    };
    assert!(guard.run_external(&doubtful, request("secret-key-4", "secret-body"), ask).await.is_err());
    // The store fails under a body, and then altogether.
    let away = async |_: &Claim<S>| {
        let mut connection = guard.pool().acquire().await.unwrap();
        OnSqlite::execute(&mut connection, "DROP TABLE idempotency_records").await.unwrap();
        Err::<Success<()>, _>(Error::Lost)
    };
    assert!(guard.run_external(&policy, request("secret-key-5", "secret-body"), away).await.is_err());
    let run = async |_: &mut Mutation<S>| Ok::<_, Error>(Success::new(()));
    assert!(guard.run(&policy, request("secret-key-6", "secret-body"), run).await.is_err());

    let text = traced.text();
    assert!(!text.contains("secret"), "{text}");
    for span in [
        "route=\"orders.create\" attempt=1 outcome=\"succeeded\"",
        "route=\"orders.create\" outcome=\"replayed\"",
        "route=\"orders.create\" outcome=\"conflict\"",
        "route=\"orders.create\" attempt=1 outcome=\"failed\"",
        "route=\"orders.create\" attempt=2 outcome=\"outcome_unknown\"",
        "route=\"orders.create\" outcome=\"store_unavailable\"",
    ] {
        assert!(text.contains(span), "no {span} in {text}");
    }
    assert!(text.contains(" WARN ") && text.contains("ERROR "), "{text}");
}
