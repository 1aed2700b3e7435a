//! The shapes that work: handlers and service functions, plain, generic, borrowed, in an `impl`.
#![deny(warnings)]
#![forbid(unsafe_code)]

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use idem_runtime::axum::{Router, delete, get, patch, post, put};
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};
use idem_ui_tests::{App, AppError, CreateOrder, Order};
use serde::Serialize;
use serde::de::DeserializeOwned;

type Answer<T> = Result<T, AppError>;

/// Attributes of the user survive.
#[idempotent(route = "orders.create", bind = task_id, ttl = "24h", lease = "30s", wait = "2s", max_run = "15m")]
#[tracing::instrument(skip_all)]
#[allow(clippy::unused_async)]
pub async fn create(
    idem: Idempotency,
    State(_): State<App>,
    mutation: &mut Mutation,
    Json(input): Json<CreateOrder>,
) -> Answer<(StatusCode, Json<Order>)> {
    mutation.bind_task("t");
    if input.sku.is_empty() {
        return Err(AppError::Busy);
    }
    Ok((StatusCode::CREATED, Json(Order { id: 1, task_id: input.sku })))
}

#[idempotent(route = "orders.patch", bind(task_id = value.task_id, outbox_event_id = value.id))]
async fn update(idem: Idempotency, Path(id): Path<i64>, mutation: &mut Mutation) -> Json<Order> {
    Json(Order { id: id + mutation.attempt(), task_id: String::new() })
}

#[idempotent(route = "orders.delete", key = optional, headers("x-trace"))]
async fn remove(_idem: Idempotency, mut body: String) -> Response {
    body.push('!');
    body.into_response()
}

#[idempotent(route = "orders.hook", key = &event.sku, retry_failed = true, preset = webhook, fingerprint(ignore("/at")))]
async fn hook(idem: Idempotency, Json(event): Json<CreateOrder>) -> impl IntoResponse {
    let _ = idem.downstream_key("charge");
    event.sku
}

#[idempotent(route = "orders.any", release_on = |error| matches!(error, AppError::Busy | AppError::Other))]
async fn generic<T: Send + DeserializeOwned + 'static>(idem: Idempotency, Json(_): Json<T>) -> Answer<String> {
    Ok(String::new())
}

/// A service of an application.
pub struct Orders {
    prefix: String,
}

impl Orders {
    #[idempotent(route = "orders.place", status = 201, failure = serde, release_on(AppError::Busy))]
    pub async fn place(&self, idem: &Idempotency, mutation: &mut Mutation, sku: &str) -> Answer<String> {
        let _ = mutation.attempt();
        Ok(format!("{}{sku}", self.prefix))
    }

    #[idempotent(route = "orders.ship", on_lapse = "refuse", bind = task_id, fingerprint(skip(clock)))]
    async fn ship<'a, T>(&self, idem: &Idempotency, (a, b): (i64, i64), clock: std::time::Instant, what: &'a T) -> Answer<Order>
    where
        T: Serialize + Sync,
    {
        idem.bind_task("t").await?;
        let _ = (clock, what);
        Ok(Order { id: a + b, task_id: idem.downstream_key("ship").to_string() })
    }
}

#[idempotent(route = "orders.count", fingerprint = &numbers[..1])]
async fn count(idem: &Idempotency, numbers: Vec<u32>) -> Answer<usize> {
    Ok(numbers.len())
}

async fn list() -> &'static str {
    "[]"
}

fn main() {
    let orders = Orders { prefix: String::new() };
    let _ = (&orders, Orders::ship::<u8>, count);
    let _: Router<App> = Router::new()
        .route("/orders", get(list).post(create))
        .route("/orders/{id}", patch(update).delete(remove))
        .route("/hooks", post(hook))
        .route("/any", put(generic::<CreateOrder>))
        .route("/other", delete(remove));
}
