//! A pretend provider with a ledger of its own, which recognises a repeated charge by its key, and whose answers
//! get lost in every way there is.

use std::collections::HashSet;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use idem_runtime::axum::{Router, exempt, get, post};
use tokio::sync::watch;
use uuid::Uuid;

use crate::bank::{Charge, Receipt};

/// The provider says no.
pub(crate) const DECLINED: &str = "declined";
/// The first charge under a key is made, and its answer breaks off.
pub(crate) const LOSES_ANSWER: &str = "loses-answer";
/// The first charge under a key is made and never answered.
pub(crate) const NEVER_ANSWERS: &str = "never-answers";
/// The first request under a key is never carried out, and never answered.
pub(crate) const NEVER_CHARGES: &str = "never-charges";
/// What goes wrong, as the cards say it.
pub(crate) const CARDS: [&str; 4] = [DECLINED, LOSES_ANSWER, NEVER_ANSWERS, NEVER_CHARGES];

/// One line of the ledger; a declined charge has one too.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    key: String,
    pub(crate) order: String,
    /// The number of the charge, unless it was declined.
    pub(crate) charge: Option<String>,
}

impl Entry {
    fn answer(&self) -> Response {
        match self.charge.clone() {
            Some(charge) => Receipt { charge }.into_response(),
            None => StatusCode::PAYMENT_REQUIRED.into_response(),
        }
    }
}

/// The provider, as the demo that runs it sees it.
#[derive(Clone, Default)]
pub(crate) struct Provider(Arc<Books>);

#[derive(Default)]
struct Books {
    ledger: Mutex<Vec<Entry>>,
    heard: Mutex<HashSet<String>>,
    /// How many requests it has heard; wakes those who wait for one.
    requests: watch::Sender<usize>,
    down: AtomicBool,
}

impl Provider {
    /// Starts it on a port of its own, and gives its address.
    pub(crate) async fn start() -> std::io::Result<(Self, String)> {
        let provider = Self::default();
        let router = Router::new()
            .route("/charges", post(exempt("the ledger recognises a repeated charge by its key", charge)))
            .route("/charges/{key}", get(find))
            .with_state(provider.clone())
            .into_axum();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(async { axum::serve(listener, router).await });
        Ok((provider, url))
    }

    /// A copy of the ledger.
    pub(crate) fn ledger(&self) -> Vec<Entry> {
        lock(&self.0.ledger).clone()
    }

    /// How many requests to charge came.
    pub(crate) fn requests(&self) -> usize {
        *self.0.requests.borrow()
    }

    /// Waits until so many requests to charge came.
    pub(crate) async fn wait_for_requests(&self, count: usize) {
        // The sender lives as long as `self`, so this ends by the count alone.
        let _ = self.0.requests.subscribe().wait_for(|requests| *requests >= count).await;
    }

    /// Makes every answer a 503, or ends that.
    pub(crate) fn set_down(&self, down: bool) {
        self.0.down.store(down, Ordering::SeqCst);
    }

    fn is_down(&self) -> bool {
        self.0.down.load(Ordering::SeqCst)
    }

    fn entry(&self, key: &str) -> Option<Entry> {
        lock(&self.0.ledger).iter().find(|entry| entry.key == key).cloned()
    }

    /// The entry of this key, made if there is none.
    fn book(&self, key: &str, charge: &Charge) -> Entry {
        let mut ledger = lock(&self.0.ledger);
        if let Some(entry) = ledger.iter().find(|entry| entry.key == key) {
            return entry.clone();
        }
        let number = (charge.card != DECLINED).then(|| Uuid::new_v4().simple().to_string());
        let entry = Entry { key: key.to_owned(), order: charge.order.clone(), charge: number };
        ledger.push(entry.clone());
        entry
    }
}

async fn charge(
    State(provider): State<Provider>,
    headers: HeaderMap,
    Json(charge): Json<Charge>,
) -> Response {
    let Some(key) = headers.get("idempotency-key").and_then(|key| key.to_str().ok()) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    if provider.is_down() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let first = lock(&provider.0.heard).insert(key.to_owned());
    let trouble = if first { charge.card.as_str() } else { "" };
    let entry = (trouble != NEVER_CHARGES).then(|| provider.book(key, &charge));
    provider.0.requests.send_modify(|requests| *requests += 1);
    match (trouble, entry) {
        (NEVER_ANSWERS, _) | (_, None) => pending().await,
        (LOSES_ANSWER, _) => {
            let lost = async { Err::<Bytes, _>(std::io::Error::other("the line is cut")) };
            Body::from_stream(futures_util::stream::once(lost)).into_response()
        }
        (_, Some(entry)) => entry.answer(),
    }
}

async fn find(State(provider): State<Provider>, Path(key): Path<String>) -> Response {
    match provider.entry(&key) {
        _ if provider.is_down() => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Some(Entry { charge: Some(charge), .. }) => Json(Receipt { charge }).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

/// What is locked here stays whole whoever panics while holding it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
