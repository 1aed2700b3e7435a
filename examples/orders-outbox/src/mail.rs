//! Sends mails through the provider; a call without a derived key does not compile.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use idem_runtime::DownstreamKey;
use serde::{Deserialize, Serialize};

use crate::orders::Order;

/// How long the provider may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the provider is asked to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mail {
    pub(crate) order: String,
    pub(crate) text: String,
}

/// Why nobody knows whether a mail was sent; the next delivery asks again with the same key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MailError {
    #[error("the mail provider did not answer in time")]
    Late(#[from] tokio::time::error::Elapsed),
    #[error("the mail provider cannot be reached")]
    Unreachable(#[from] hyper_util::client::legacy::Error),
    #[error("the answer of the mail provider broke off")]
    BrokenOff(#[from] axum::Error),
    #[error("the mail cannot be written")]
    Request(#[from] axum::http::Error),
    #[error("the mail cannot be written")]
    Json(#[from] serde_json::Error),
    #[error("the mail provider answered {0}")]
    Refused(StatusCode),
}

impl From<hyper::Error> for MailError {
    fn from(error: hyper::Error) -> Self {
        Self::BrokenOff(axum::Error::new(error))
    }
}

/// The provider as we see it.
#[derive(Debug)]
pub(crate) struct Mailer {
    provider: SocketAddr,
    connections: Client<HttpConnector, Body>,
}

impl Mailer {
    pub(crate) fn new(provider: SocketAddr) -> Self {
        Self { provider, connections: Client::builder(TokioExecutor::new()).build_http() }
    }

    /// Sends a mail about `order`, once for each key.
    pub(crate) async fn send(&self, key: &DownstreamKey, order: &Order) -> Result<(), MailError> {
        let text = format!("{} x {} are on their way", order.quantity, order.item);
        let mail = serde_json::to_vec(&Mail { order: order.id.clone(), text })?;
        let request = Request::post(format!("http://{}/mails", self.provider))
            .header("idempotency-key", key.as_str())
            .header("content-type", "application/json")
            .body(Body::from(mail))?;
        let answered = async {
            let response = self.connections.request(request).await?;
            let status = response.status();
            response.into_body().collect().await?;
            if status.is_success() { Ok(()) } else { Err(MailError::Refused(status)) }
        };
        tokio::time::timeout(PATIENCE, answered).await?
    }
}
