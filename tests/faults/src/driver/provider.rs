//! A provider that is never struck: it carries out each key once and remembers what it did.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::Result;
use crate::routes::Effect;

type Calls = Arc<Mutex<BTreeMap<String, Effect>>>;

pub(super) struct Provider {
    pub(super) url: String,
    calls: Calls,
    serving: JoinHandle<()>,
}

impl Provider {
    pub(super) async fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let calls = Calls::default();
        let router = Router::new().route("/calls", post(call)).route("/calls/{key}", get(find));
        let router = router.with_state(Arc::clone(&calls));
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, calls, serving })
    }

    /// One effect for each key that ever arrived: a second key of one request is a second effect.
    pub(super) fn effects(&self) -> Vec<Effect> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn call(State(calls): State<Calls>, Json(effect): Json<Effect>) -> Json<Effect> {
    let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
    Json(calls.entry(effect.token.clone()).or_insert(effect).clone())
}

async fn find(
    State(calls): State<Calls>,
    Path(key): Path<String>,
) -> std::result::Result<Json<Effect>, StatusCode> {
    let calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
    calls.get(&key).cloned().map(Json).ok_or(StatusCode::NOT_FOUND)
}
