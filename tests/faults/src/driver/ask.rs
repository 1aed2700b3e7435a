//! Sends one request and writes down what became of it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::{CONTENT_TYPE, LOCATION};
use tokio::sync::watch;

use super::Result;
use crate::checker::answer::{Said, read};
use crate::log::{Ask, Got, Log, Struck};
use crate::routes::{Order, Owner};

/// What all tasks of a round share.
pub(super) struct Round {
    start: Instant,
    order: AtomicU64,
    pub(super) keys: AtomicUsize,
    pub(super) log: Mutex<Log>,
    /// Where the processes listen that are up.
    pub(super) addresses: Vec<Mutex<Option<SocketAddr>>>,
    pub(super) http: reqwest::Client,
    /// Set when no more faults and no more keys shall begin.
    pub(super) over: watch::Sender<bool>,
}

/// How a request is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub(super) process: usize,
    pub(super) impostor: bool,
    pub(super) patience: Duration,
    pub(super) last: bool,
}

impl Round {
    pub(super) fn new(processes: usize) -> Result<Self> {
        Ok(Self {
            start: Instant::now(),
            order: AtomicU64::new(0),
            keys: AtomicUsize::new(0),
            log: Mutex::default(),
            addresses: (0..processes).map(|_| Mutex::default()).collect(),
            http: reqwest::Client::builder().no_proxy().pool_max_idle_per_host(8).build()?,
            over: watch::Sender::new(false),
        })
    }

    pub(super) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn struck(&self, what: String, place: String) {
        self.log().struck.push(Struck { at: self.start.elapsed(), what, place });
    }

    pub(super) fn address(&self, process: usize) -> MutexGuard<'_, Option<SocketAddr>> {
        self.addresses[process].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request; `None` when that process is down.
    pub(super) async fn ask(&self, owner: &Owner, order: &Order, manner: Manner) -> Option<Said> {
        let address = (*self.address(manner.process))?;
        let url = format!("http://{address}{}", owner.route.path());
        let request = self.http.post(url).json(order).header("x-tenant", &owner.tenant);
        let request = request.header("x-user", &owner.user).header("idempotency-key", &owner.key);
        let began = self.order.fetch_add(1, Ordering::SeqCst);
        let at = self.start.elapsed();
        let got = match tokio::time::timeout(manner.patience, send(request)).await {
            Ok(Ok(got)) => got,
            Ok(Err(error)) => Got::Nothing(error.to_string()),
            Err(_) => Got::Nothing("hung up".to_owned()),
        };
        let ended = self.order.fetch_add(1, Ordering::SeqCst);
        let Manner { process, impostor, last, .. } = manner;
        let payload = order.payload.clone();
        let ask = Ask { began, ended, at, process, payload, impostor, last, got };
        let said = read(&ask);
        // Trouble after the faults is no answer, and asked again; everything else is the last word.
        let ask = Ask { last: last && !said.is_silent(), ..ask };
        self.log().asks.entry(owner.clone()).or_default().push(ask);
        Some(said)
    }
}

async fn send(request: reqwest::RequestBuilder) -> reqwest::Result<Got> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let named = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let headers = format!("{} {}", named(CONTENT_TYPE), named(LOCATION));
    Ok(Got::Answer { status, headers, body: response.text().await? })
}
