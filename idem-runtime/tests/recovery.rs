//! `on_lapse = recover(...)` on a handler and on a service function.
#![cfg(all(feature = "axum", feature = "sqlite"))]

use std::future::{Ready, ready};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt;
use idem_runtime::axum::{IdempotencyState, Router, post};
use idem_runtime::sqlite::{Guard, Idempotency};
use idem_runtime::{DownstreamKey, Error, IdempotencyKey, KeyError, Recovery, Scope, idempotent};
use tower::ServiceExt;

/// A provider that takes the money and never answers.
#[derive(Debug, Default)]
struct Bank {
    charges: AtomicU32,
    known: Option<&'static str>,
}

impl Bank {
    async fn charge(&self, _: &DownstreamKey) -> String {
        self.charges.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }

    fn find(&self, key: DownstreamKey) -> Ready<Recovery<String>> {
        assert_eq!(key.to_string().len(), 64);
        drop(key);
        ready(self.known.map_or(Recovery::Unknown, |receipt| Recovery::Done(receipt.to_owned())))
    }
}

#[derive(Clone)]
struct App {
    guard: Guard,
    bank: std::sync::Arc<Bank>,
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

#[idempotent(route = "payments.charge", on_lapse = recover(app.bank.find(idem.downstream_key("charge"))))]
async fn charge(idem: Idempotency, State(app): State<App>) -> Result<String, Error> {
    Ok(app.bank.charge(&idem.downstream_key("charge")).await)
}

#[idempotent(
    route = "payments.pay", fingerprint(skip(bank)),
    on_lapse = recover(bank.find(idem.downstream_key("charge")))
)]
async fn pay(idem: &Idempotency, bank: &Bank, amount: u32) -> Result<String, Error> {
    Ok(format!("{amount} {}", bank.charge(&idem.downstream_key("charge")).await))
}

async fn app(known: Option<&'static str>) -> App {
    let pool =
        sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await.unwrap();
    let guard = Guard::builder(pool).migrate().build().await.unwrap();
    App { guard, bank: std::sync::Arc::new(Bank { known, ..Bank::default() }) }
}

async fn send(app: &App) -> Response {
    let router = Router::new().route("/", post(charge)).with_state(app.clone()).into_axum();
    let request = Request::post("/").header("idempotency-key", "k").body(Body::empty()).unwrap();
    router.oneshot(request).await.unwrap()
}

/// One charge that gets no answer, and whose lease ends as by the death of its process.
async fn charge_and_stop(app: &App) {
    assert!(tokio::time::timeout(Duration::from_millis(200), send(app)).await.is_err());
    sqlx::query("UPDATE idempotency_records SET locked_until = 0").execute(app.guard.pool()).await.unwrap();
}

#[tokio::test]
async fn a_handler_gives_what_the_provider_knows_and_charges_once() {
    let app = app(Some("receipt-1")).await;
    charge_and_stop(&app).await;
    for _ in 0..2 {
        let response = send(&app).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "receipt-1");
    }
    assert_eq!(app.bank.charges.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_handler_whose_provider_cannot_say_is_refused_and_does_not_charge_again() {
    let app = app(None).await;
    charge_and_stop(&app).await;
    for _ in 0..2 {
        let response = send(&app).await;
        assert_eq!(response.status(), StatusCode::CONFLICT);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("IDEMPOTENCY_OUTCOME_UNKNOWN"), "{body:?}");
    }
    assert_eq!(app.bank.charges.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_service_function_gives_what_the_provider_knows() {
    let app = app(Some("receipt-1")).await;
    let pay = async || {
        let idem =
            app.guard.request(Scope::new("acme", "user-7").unwrap(), IdempotencyKey::new("k").unwrap());
        pay(&idem, &app.bank, 5).await
    };
    assert!(tokio::time::timeout(Duration::from_millis(200), pay()).await.is_err());
    assert!(app.guard.drain(Duration::from_secs(30)).await);
    assert_eq!(pay().await.unwrap(), "receipt-1");
    assert_eq!(pay().await.unwrap(), "receipt-1");
    assert_eq!(app.bank.charges.load(Ordering::SeqCst), 1);
}
