//! A mail provider that pretends, in the process of the demo: it recognises a mail by its key, and loses answers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use idem_runtime::axum::{Router, exempt, post};
use tokio::net::TcpListener;

use crate::mail::Mail;

/// Of so many requests, the provider loses the answer to one.
const LOSES_EVERY: u64 = 3;

/// What the provider knows: for each key the mail, and how often it was asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Provider(Arc<Mutex<Ledger>>);

#[derive(Debug, Default)]
struct Ledger {
    sent: HashMap<String, Sent>,
    requests: u64,
    lost_answers: u64,
}

/// A mail that went out once, however often it was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) mail: Mail,
    pub(crate) asked: u64,
}

impl Provider {
    /// Listens on a free port of this machine; it serves as long as the process runs.
    pub(crate) async fn start() -> std::io::Result<(Self, SocketAddr)> {
        let provider = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let routes = Router::new()
            .route("/mails", post(exempt("a mail is known by its key and sent once", receive)))
            .with_state(provider.clone())
            .into_axum();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok((provider, address))
    }

    /// Every mail that went out.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.ledger().sent.values().cloned().collect()
    }

    /// How many answers were lost.
    pub(crate) fn lost_answers(&self) -> u64 {
        self.ledger().lost_answers
    }

    /// What is locked here stays whole whoever panics while holding it.
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a mail: the ledger first, then perhaps the answer.
async fn receive(State(provider): State<Provider>, headers: HeaderMap, Json(mail): Json<Mail>) -> Response {
    let Some(key) = headers.get("idempotency-key").and_then(|key| key.to_str().ok()) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let mut ledger = provider.ledger();
    let sent = ledger.sent.entry(key.to_owned()).or_insert_with(|| Sent { mail: mail.clone(), asked: 0 });
    sent.asked += 1;
    if sent.mail != mail {
        return StatusCode::UNPROCESSABLE_ENTITY.into_response();
    }
    ledger.requests += 1;
    if !ledger.requests.is_multiple_of(LOSES_EVERY) {
        return StatusCode::ACCEPTED.into_response();
    }
    ledger.lost_answers += 1;
    // A body that fails cuts the connection in the middle of the answer.
    let broken = stream::once(async { Err::<Bytes, _>(std::io::Error::other("lost")) });
    Body::from_stream(broken).into_response()
}
