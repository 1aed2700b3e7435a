//! Requests of every form: forms, texts, parts that do not count, keys inside the body, and functions further in.

use axum::Json;
use axum::extract::{Form, State};
use axum::http::StatusCode;
use idem_runtime::axum::Delegated;
use idem_runtime::{Idempotency, Mutation, idempotent};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::App;
use crate::business::Business;
use crate::error::AppError;
use crate::routes::orders::{NewOrder, Order, place};
use crate::visit::Visit;

type Created = (StatusCode, Json<Value>);

fn created(id: i64, attempt: i64) -> Created {
    (StatusCode::CREATED, Json(json!({ "id": id, "attempt": attempt })))
}

#[derive(Debug, Deserialize)]
pub(crate) struct Transfer {
    amount: i64,
}

#[idempotent(route = "requests.form")]
pub(crate) async fn form<D: Business>(
    idem: Idempotency<D>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    Form(transfer): Form<Transfer>,
) -> Result<Created, AppError> {
    visit.enter().await?;
    let id = D::write_row(mutation, visit.row("", &transfer.amount.to_string())).await?;
    Ok(created(id, mutation.attempt()))
}

#[idempotent(route = "requests.text")]
pub(crate) async fn text<D: Business>(
    idem: Idempotency<D>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    text: String,
) -> Result<Created, AppError> {
    visit.enter().await?;
    let id = D::write_row(mutation, visit.row("", &text)).await?;
    Ok(created(id, mutation.attempt()))
}

/// When it was sent is no part of what is compared.
#[idempotent(route = "requests.import", fingerprint(ignore("/meta/sent_at")))]
pub(crate) async fn import<D: Business>(
    idem: Idempotency<D>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    Json(rows): Json<Value>,
) -> Result<Created, AppError> {
    visit.enter().await?;
    let id = D::write_row(mutation, visit.row("", &rows.to_string())).await?;
    Ok(created(id, mutation.attempt()))
}

#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    id: String,
    #[serde(default)]
    fails: bool,
}

/// The key is the id of the event; senders try again after every answer that is not a success.
#[idempotent(route = "requests.hook", preset = webhook, key = &event.id, fingerprint(ignore("/delivery")))]
pub(crate) async fn hook<D: Business>(
    idem: Idempotency<D>,
    visit: Visit<D>,
    mutation: &mut Mutation<D>,
    Json(event): Json<Event>,
) -> Result<Created, AppError> {
    visit.enter().await?;
    let id = D::write_row(mutation, visit.row("", &event.id)).await?;
    if event.fails && mutation.attempt() == 1 {
        return Err(AppError::PartnerFailed);
    }
    Ok(created(id, mutation.attempt()))
}

/// Passes the request on to a guarded function.
pub(crate) async fn delegated<D: Business>(
    idem: Delegated<D>,
    visit: Visit<D>,
    Json(order): Json<NewOrder>,
) -> Result<Order, AppError> {
    place_once(&idem, &visit, order).await
}

#[idempotent(route = "orders.delegated", status = 201, fingerprint(skip(visit)))]
async fn place_once<D: Business>(
    idem: &Idempotency<D>,
    visit: &Visit<D>,
    mutation: &mut Mutation<D>,
    order: NewOrder,
) -> Result<Order, AppError> {
    visit.enter().await?;
    let attempt = mutation.attempt();
    place(visit, mutation, attempt, order).await
}

#[derive(Debug, Serialize)]
pub(crate) struct Unclaimed {
    done: bool,
}

/// Says that it passes the request on, and does not.
pub(crate) async fn unclaimed<D: Business>(
    _: Delegated<D>,
    State(_): State<App<D>>,
    visit: Visit<D>,
) -> Result<Json<Unclaimed>, AppError> {
    visit.enter().await?;
    Ok(Json(Unclaimed { done: true }))
}
