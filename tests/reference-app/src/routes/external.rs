//! Partners outside our database: no transaction, and a key by which the partner recognises a repetition.
//!
//! The partner's books are rows of this database, written through the pool as an API of another service
//! would be called.

use std::time::Duration;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use idem_runtime::{Claim, Idempotency, Recovery, idempotent};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::business::{Business, NewRow};
use crate::error::AppError;
use crate::routes::orders::{NewOrder, Order};
use crate::visit::Visit;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NewPayment {
    amount: i64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Payment {
    id: i64,
    attempt: i64,
    amount: i64,
}

/// How long a body takes.
#[derive(Debug, Deserialize)]
pub(crate) struct Pause {
    #[serde(default)]
    ms: u64,
}

impl Pause {
    async fn pass(&self) {
        tokio::time::sleep(Duration::from_millis(self.ms)).await;
    }

    /// Only the first attempt is slow, so that the one that takes over comes to its end.
    async fn pass_in_first<D: Business>(&self, claim: &Claim<D>) {
        if claim.attempt() == 1 {
            self.pass().await;
        }
    }
}

/// The call to the partner, which enters one row per downstream key.
async fn call_partner<D: Business>(
    app: &App<D>,
    visit: &Visit<D>,
    claim: &Claim<D>,
    content: &str,
) -> Result<i64, AppError> {
    let key = claim.downstream_key("call");
    let row = NewRow { downstream_key: Some(key.as_str()), ..visit.row("", content) };
    let mut connection = app.pool().acquire().await?;
    Ok(D::write_row(&mut connection, row).await?)
}

async fn order_from_partner<D: Business>(
    app: &App<D>,
    visit: &Visit<D>,
    claim: &Claim<D>,
    order: NewOrder,
) -> Result<Order, AppError> {
    let id = call_partner(app, visit, claim, &serde_json::json!(order).to_string()).await?;
    Ok(Order::new(id, claim.attempt(), order))
}

#[idempotent(route = "payments.create", retry_failed = false)]
pub(crate) async fn pay<D: Business>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    visit: Visit<D>,
    Json(payment): Json<NewPayment>,
) -> Result<(StatusCode, Json<Payment>), AppError> {
    visit.enter().await?;
    if payment.amount == 13 {
        return Err(AppError::PartnerFailed);
    }
    let id = call_partner(&app, &visit, idem, &serde_json::json!(payment).to_string()).await?;
    let payment = Payment { id, attempt: idem.attempt(), amount: payment.amount };
    Ok((StatusCode::CREATED, Json(payment)))
}

#[idempotent(route = "partner.slow")]
pub(crate) async fn slow<D: Business>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    Query(pause): Query<Pause>,
    visit: Visit<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    pause.pass().await;
    order_from_partner(&app, &visit, idem, order).await
}

#[idempotent(route = "partner.awaited", wait = "2s")]
pub(crate) async fn awaited<D: Business>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    Query(pause): Query<Pause>,
    visit: Visit<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    pause.pass().await;
    order_from_partner(&app, &visit, idem, order).await
}

#[idempotent(route = "partner.leased", lease = "1s", max_run = "1s", on_lapse = "rerun")]
pub(crate) async fn leased<D: Business>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    Query(pause): Query<Pause>,
    visit: Visit<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    pause.pass_in_first(idem).await;
    order_from_partner(&app, &visit, idem, order).await
}

#[idempotent(route = "partner.leased-refuse", lease = "1s", max_run = "1s", on_lapse = "refuse")]
pub(crate) async fn leased_refuse<D: Business>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    Query(pause): Query<Pause>,
    visit: Visit<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    pause.pass_in_first(idem).await;
    order_from_partner(&app, &visit, idem, order).await
}

#[idempotent(route = "partner.renewed", lease = "1s", max_run = "60s")]
pub(crate) async fn renewed<D: Business>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    Query(pause): Query<Pause>,
    visit: Visit<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    pause.pass().await;
    order_from_partner(&app, &visit, idem, order).await
}

/// What the partner says when it is asked about an attempt that stopped.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked {
    ms: u64,
    found: String,
}

#[expect(clippy::unused_async, reason = "a partner is asked over the network")]
async fn ask(found: String, order: NewOrder) -> Recovery<Order> {
    match found.as_str() {
        "done" => Recovery::Done(Order::new(7, 7, order)),
        "absent" => Recovery::Absent,
        _ => Recovery::Unknown,
    }
}

#[idempotent(
    route = "partner.recovered",
    lease = "1s",
    max_run = "1s",
    on_lapse = recover(ask(asked.found.clone(), order.clone())),
)]
pub(crate) async fn recovered<D: Business>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    Query(asked): Query<Asked>,
    visit: Visit<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    Pause { ms: asked.ms }.pass_in_first(idem).await;
    order_from_partner(&app, &visit, idem, order).await
}
