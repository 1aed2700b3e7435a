//! A client that does not trust the network: it sends each order twice at once, and once more.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures_util::future::try_join;
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client as Connections;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use uuid::Uuid;

use crate::error::DemoError;
use crate::orders::{NewOrder, Order};

/// The pause before an order is asked for again that is in progress.
const PAUSE: Duration = Duration::from_millis(50);

/// Who orders, and what came back.
pub(crate) struct Client {
    authority: String,
    connections: Connections<HttpConnector, Body>,
    /// New in each run, so that a database can be used again.
    pub(crate) tenant: String,
    /// Orders that were answered.
    pub(crate) placed: AtomicUsize,
    pub(crate) requests: AtomicU64,
    pub(crate) replayed: AtomicU64,
}

impl Client {
    pub(crate) fn new(authority: String) -> Self {
        let connections = Connections::builder(TokioExecutor::new()).build_http();
        let tenant = format!("demo-{}", Uuid::new_v4().simple());
        Self {
            authority,
            connections,
            tenant,
            placed: AtomicUsize::default(),
            requests: AtomicU64::default(),
            replayed: AtomicU64::default(),
        }
    }

    /// Places the order `number`; all answers must name the same one.
    pub(crate) async fn place(&self, number: i64) -> Result<(), DemoError> {
        let (one, other) = try_join(self.insist(number), self.insist(number)).await?;
        let again = self.insist(number).await?;
        if one == other && one == again {
            self.placed.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        Err(DemoError::unexpected("an order that was sent three times", (one, other, again)))
    }

    /// Sends the order until it is answered.
    async fn insist(&self, number: i64) -> Result<Order, DemoError> {
        loop {
            let (status, body) = self.send(number).await?;
            match status {
                StatusCode::CREATED => {
                    return serde_json::from_slice(&body)
                        .map_err(|error| DemoError::unexpected("an order", error));
                }
                StatusCode::CONFLICT | StatusCode::SERVICE_UNAVAILABLE => tokio::time::sleep(PAUSE).await,
                other => return Err(DemoError::unexpected("an order", other)),
            }
        }
    }

    async fn send(&self, number: i64) -> Result<(StatusCode, Vec<u8>), DemoError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let order = serde_json::json!(NewOrder { item: "book".to_owned(), quantity: number });
        let request = Request::post(format!("http://{}/orders", self.authority))
            .header("x-tenant", &self.tenant)
            .header("x-user", "ada")
            .header("idempotency-key", format!("order-{number}"))
            .header("content-type", "application/json")
            .body(Body::from(order.to_string()))?;
        let response = self.connections.request(request).await?;
        let (head, body) = response.into_parts();
        let replayed = head.headers.contains_key("idempotent-replayed");
        self.replayed.fetch_add(u64::from(replayed), Ordering::Relaxed);
        Ok((head.status, body.collect().await?.to_bytes().to_vec()))
    }
}
