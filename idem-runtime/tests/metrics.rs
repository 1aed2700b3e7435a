//! What is counted, read from a real recorder.
#![cfg(all(feature = "sqlite", feature = "axum"))]

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use idem_runtime::axum::{IdempotencyState, Router, post};
use idem_runtime::sqlite::{Delegated, Guard, Mutation};
use idem_runtime::{Error, IdempotencyKey, KeyError, Policy, Scope, Success};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tower::ServiceExt;

async fn guard() -> Guard {
    let pool =
        sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await.unwrap();
    Guard::builder(pool).migrate().build().await.unwrap()
}

/// The counters with this name, as their labels and values in order.
fn counted(snapshotter: &Snapshotter, name: &str) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        let labels: Vec<_> = key.key().labels().map(metrics::Label::value).collect();
        if let (true, DebugValue::Counter(value)) = (key.key().name() == name, value) {
            all.push((labels.join(" "), value));
        }
    }
    all.sort();
    all
}

#[tokio::test]
async fn every_guarded_call_is_counted_by_route_and_outcome() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _installed = metrics::set_default_local_recorder(&recorder);
    let (guard, policy) = (guard().await, Policy::new("orders.create").unwrap());
    for input in ["book", "book", "lamp"] {
        let request = guard.request(Scope::new("acme", "user-7").unwrap(), IdempotencyKey::new("k").unwrap());
        let body = async |_: &mut Mutation| Ok::<_, Error>(Success::new(1));
        let _ = guard.run(&policy, request.of(input).unwrap(), body).await;
    }
    let expected =
        [("orders.create conflict", 1), ("orders.create replayed", 1), ("orders.create succeeded", 1)];
    assert_eq!(
        counted(&snapshotter, "idem_requests_total"),
        expected.map(|(label, n)| (label.to_owned(), n))
    );
}

#[derive(Clone)]
struct App(Guard);

impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = HeaderMap;

    fn guard(&self) -> &Guard {
        &self.0
    }

    fn scope(_: &HeaderMap) -> Result<Scope, KeyError> {
        Scope::new("acme", "user-7")
    }
}

async fn forgetful(_: Delegated) -> &'static str {
    "done"
}

#[tokio::test]
async fn a_delegating_handler_that_claims_nothing_is_counted() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _installed = metrics::set_default_local_recorder(&recorder);
    let app = Router::new().route("/", post(forgetful)).with_state(App(guard().await)).into_axum();
    let request = Request::post("/").header("idempotency-key", "k").body(Body::empty()).unwrap();
    assert_eq!(app.oneshot(request).await.unwrap().status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(counted(&snapshotter, "idem_unclaimed_answers_total"), [(String::new(), 1)]);
}
