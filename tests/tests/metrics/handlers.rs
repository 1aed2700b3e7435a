//! What only handlers can bring about.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode};
use idem_runtime::axum::{IdempotencyState, Router, post};
use idem_runtime::sqlite::{Delegated, Guard, Idempotency, Mutation};
use idem_runtime::{KeyError, Scope, idempotent};
use idem_tests::{Fixture, OnSqlite};
use tokio::sync::Notify;
use tower_service::Service;

#[derive(Clone)]
struct App {
    guard: Guard,
    finish: Arc<Notify>,
}

impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = HeaderMap;

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn scope(_: &HeaderMap) -> Result<Scope, KeyError> {
        Scope::new("acme", "user-7")
    }
}

async fn forgetful(_: Delegated) -> &'static str {
    "done"
}

#[idempotent(route = "orders.crowded")]
async fn create(_: Idempotency, _: &mut Mutation, State(app): State<App>) -> &'static str {
    app.finish.notified().await;
    "created"
}

async fn status(app: &axum::Router, path: &str, key: &str) -> StatusCode {
    let request = Request::post(path).header("idempotency-key", key).body(Body::empty()).unwrap();
    app.clone().call(request).await.unwrap().status()
}

pub(crate) async fn unclaimed_and_overloaded() {
    let fixture = OnSqlite::create().await;
    let patience = Duration::from_millis(50);
    let guard = fixture.builder(2).await.max_detached(1).statement_timeout(patience).build().await.unwrap();
    let app = App { guard, finish: Arc::new(Notify::new()) };
    let routes = Router::new().route("/forgetful", post(forgetful)).route("/orders", post(create));
    let routes = routes.with_state(app.clone()).into_axum();
    assert_eq!(status(&routes, "/forgetful", "k").await, StatusCode::INTERNAL_SERVER_ERROR);
    // Whichever comes second finds no place.
    let orders = ["a", "b"].map(|key| {
        let (routes, finish) = (&routes, &app.finish);
        async move {
            let status = status(routes, "/orders", key).await;
            finish.notify_one();
            status
        }
    });
    let mut statuses = futures_util::future::join_all(orders).await;
    statuses.sort();
    assert_eq!(statuses, [StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE]);
}
