//! Orders: writes to our own database, in the transaction of the guard.

use std::time::Duration;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use idem_runtime::store::ConnectionOf;
use idem_runtime::{Idempotency, Mutation, idempotent};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::app::App;
use crate::business::Business;
use crate::error::AppError;
use crate::visit::Visit;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NewOrder {
    sku: String,
    quantity: i64,
    note: Option<String>,
}

/// An order as it is answered.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    id: i64,
    attempt: i64,
    #[serde(flatten)]
    ordered: NewOrder,
}

impl Order {
    pub(crate) fn new(id: i64, attempt: i64, ordered: NewOrder) -> Self {
        Self { id, attempt, ordered }
    }
}

impl IntoResponse for Order {
    /// With headers that a retry must get again, and some that it must never get.
    fn into_response(self) -> Response {
        let path = format!("/orders/{}", self.id);
        let lines: [(HeaderName, String); 6] = [
            (header::LOCATION, path.clone()),
            (header::ETAG, format!("\"{}-{}\"", self.id, self.attempt)),
            (header::LINK, format!("<{path}>; rel=\"self\"")),
            (header::LINK, "</orders>; rel=\"collection\"".to_owned()),
            (header::SET_COOKIE, format!("session={}; HttpOnly", Uuid::new_v4())),
            (HeaderName::from_static("x-request-id"), Uuid::new_v4().to_string()),
        ];
        let lines = lines.map(|(name, value)| (name, HeaderValue::try_from(value).ok()));
        let lines = lines.into_iter().filter_map(|(name, value)| Some((name, value?)));
        (StatusCode::CREATED, AppendHeaders(lines), Json(self)).into_response()
    }
}

/// Writes the order, or fails as its content asks for.
pub(crate) async fn place<D: Business>(
    visit: &Visit<D>,
    connection: &mut ConnectionOf<D>,
    attempt: i64,
    order: NewOrder,
) -> Result<Order, AppError> {
    if order.quantity == 0 {
        return Err(AppError::QuantityInvalid);
    }
    let content = serde_json::json!(order).to_string();
    let id = D::write_row(connection, visit.row("", &content)).await?;
    if order.sku == "FAIL-AFTER-INSERT" {
        return Err(AppError::AfterInsert);
    }
    Ok(Order::new(id, attempt, order))
}

#[idempotent(route = "orders.create", retry_failed = false)]
pub(crate) async fn create<D: Business>(
    idem: Idempotency<D>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    let attempt = mutation.attempt();
    place(&visit, mutation, attempt, order).await
}

#[idempotent(route = "orders.create-expiring", ttl = "2s", lease = "1s")]
pub(crate) async fn create_expiring<D: Business>(
    idem: Idempotency<D>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    let attempt = mutation.attempt();
    place(&visit, mutation, attempt, order).await
}

#[idempotent(route = "orders.create-optional", key = optional)]
pub(crate) async fn create_with_optional_key<D: Business>(
    idem: Idempotency<D>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    let attempt = mutation.attempt();
    place(&visit, mutation, attempt, order).await
}

/// Runs at every request; the route says so.
pub(crate) async fn create_exempt<D: Business>(
    State(app): State<App<D>>,
    visit: Visit<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    let mut connection = app.pool().acquire().await?;
    place(&visit, &mut connection, 1, order).await
}

/// How the first attempt ends.
#[derive(Debug, Deserialize)]
pub(crate) struct FirstAttempt {
    #[serde(default)]
    ms: u64,
    panic: Option<String>,
    busy: Option<String>,
}

#[idempotent(route = "orders.create-retryable", retry_failed = true, release_on(AppError::Busy))]
pub(crate) async fn create_retryable<D: Business>(
    idem: Idempotency<D>,
    Query(first): Query<FirstAttempt>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    tokio::time::sleep(Duration::from_millis(first.ms)).await;
    let attempt = mutation.attempt();
    if attempt == 1 {
        assert!(first.panic.is_none(), "the first attempt panics, as the case asks for");
        return Err(if first.busy.is_some() { AppError::Busy } else { AppError::PartnerFailed });
    }
    place(&visit, mutation, attempt, order).await
}

#[idempotent(route = "orders.panic")]
pub(crate) async fn panic_after_insert<D: Business>(
    idem: Idempotency<D>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    visit.enter().await?;
    let attempt = mutation.attempt();
    let order = place(&visit, mutation, attempt, order).await?;
    panic!("order {} panics, as the case asks for", order.id)
}

/// A read that no key touches.
pub(crate) async fn list() -> Json<[Order; 0]> {
    Json([])
}
