//! The writes of the shop: an order in our own database, a charge and a transfer at somebody else's.

use std::pin::Pin;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use idem_runtime::{Error, Idempotency, Mutation, idempotent};
use serde::Deserialize;

use super::{Place, Shop, Stage, Stop};
use crate::Fixture;

/// What a customer asks for.
#[derive(Debug, Deserialize)]
pub struct NewOrder {
    /// The business row that it leaves.
    pub name: String,
}

/// Why the shop did not do it.
#[derive(Debug)]
pub enum ShopError {
    /// The guard refused.
    Guard(Error),
    /// The database failed.
    Sql(sqlx::Error),
    /// Come again: the claim is given back.
    Busy,
    /// A partner did not answer in time.
    TimedOut,
    /// No, and that is final.
    Refused(StatusCode),
}

impl From<Error> for ShopError {
    fn from(error: Error) -> Self {
        Self::Guard(error)
    }
}

impl From<sqlx::Error> for ShopError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl IntoResponse for ShopError {
    fn into_response(self) -> Response {
        match self {
            Self::Guard(error) => error.into_response(),
            Self::Sql(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy").into_response(),
            Self::TimedOut => (StatusCode::GATEWAY_TIMEOUT, "timed out").into_response(),
            Self::Refused(status) => (status, "refused").into_response(),
        }
    }
}

/// An answer that no second run in any process gives again, and that stops while it is read, if told to.
fn receipt(name: &str, attempt: i64, stop: &Stop, stage: &Arc<Stage>) -> Response {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let run = format!("{}-{}", process::id(), RUNS.fetch_add(1, Ordering::SeqCst));
    let text = format!(r#"{{"name":"{name}","attempt":{attempt},"run":"{run}"}}"#);
    let body = if stop.is_at(Place::Recording) {
        let stage = Arc::clone(stage);
        let standing = Box::pin(async move { stage.stand(Place::Recording).await });
        Body::new(Hesitant { standing: Some(standing), text: Some(Bytes::from(text)) })
    } else {
        Body::from(text)
    };
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::LOCATION, "/orders/1")];
    (StatusCode::CREATED, headers, body).into_response()
}

/// A body of known length that waits at the gate before it gives its one frame.
struct Hesitant {
    standing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    text: Option<Bytes>,
}

impl HttpBody for Hesitant {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, axum::Error>>> {
        if let Some(standing) = &mut self.standing {
            std::task::ready!(standing.as_mut().poll(context));
            self.standing = None;
        }
        Poll::Ready(self.text.take().map(|text| Ok(http_body::Frame::data(text))))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(self.text.as_ref().map_or(0, |text| text.len() as u64))
    }
}

#[idempotent(route = "orders.create")]
pub(super) async fn order<F: Fixture>(
    idem: Idempotency<F::S>,
    State(shop): State<Shop<F>>,
    stop: Stop,
    mutation: &mut Mutation<F::S>,
    Json(order): Json<NewOrder>,
) -> Result<Response, ShopError> {
    F::effect(mutation, &order.name).await?;
    stop.at(Place::Body, &shop.stage).await;
    Ok(receipt(&order.name, mutation.attempt(), &stop, &shop.stage))
}

/// Charges at a provider that refuses a charge whose key it has seen: one row for each key.
#[idempotent(route = "payments.charge")]
pub(super) async fn charge<F: Fixture>(
    idem: Idempotency<F::S>,
    State(shop): State<Shop<F>>,
    stop: Stop,
    Json(order): Json<NewOrder>,
) -> Result<Response, ShopError> {
    let charge = idem.downstream_key("charge");
    if F::effects(shop.guard.pool(), charge.as_str()).await == 0 {
        let mut provider = shop.guard.pool().acquire().await?;
        F::effect(&mut provider, charge.as_str()).await?;
    }
    stop.at(Place::Body, &shop.stage).await;
    Ok(receipt(&order.name, idem.attempt(), &stop, &shop.stage))
}

/// Transfers at a bank that knows no keys: each run is a transfer, so that nobody may run it twice.
#[idempotent(route = "payments.transfer", on_lapse = "refuse")]
pub(super) async fn transfer<F: Fixture>(
    idem: Idempotency<F::S>,
    State(shop): State<Shop<F>>,
    stop: Stop,
    Json(order): Json<NewOrder>,
) -> Result<Response, ShopError> {
    let mut bank = shop.guard.pool().acquire().await?;
    F::effect(&mut bank, &order.name).await?;
    drop(bank);
    stop.at(Place::Body, &shop.stage).await;
    Ok(receipt(&order.name, idem.attempt(), &stop, &shop.stage))
}
