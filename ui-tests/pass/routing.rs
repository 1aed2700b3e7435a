//! Routes and handlers that work: `debug_handler` below the attribute, another identity, delegation, wrappers.
#![deny(warnings)]

use axum::Json;
use axum::extract::{Path, State};
use idem_runtime::axum::{
    MethodFilter, MethodRouter, Router, any, exempt, get, on, post, put, read_only, reason,
};
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Delegated, Idempotency, Mutation};
use idem_ui_tests::{App, AppError, CreateOrder, Sender, foreign_handler};

#[idempotent(route = "orders.create")]
#[axum::debug_handler(state = App)]
async fn create(
    idem: Idempotency,
    State(_): State<App>,
    mutation: &mut Mutation,
    Json(input): Json<CreateOrder>,
) -> Result<String, AppError> {
    let _ = mutation.attempt();
    Ok(input.sku)
}

#[idempotent(route = "orders.delete")]
#[axum::debug_handler(state = App)]
async fn remove(idem: Idempotency, Path(id): Path<i64>) -> String {
    id.to_string()
}

#[idempotent(route = "orders.clear")]
#[axum::debug_handler(state = App)]
async fn clear(idem: Idempotency) {}

#[idempotent(route = "webhooks.paid", preset = webhook, key = &event.sku, fingerprint(ignore("/sent_at")))]
async fn paid(idem: Idempotency<Sender>, mutation: &mut Mutation, Json(event): Json<CreateOrder>) -> String {
    format!("{} {} {}", idem.scope().user(), event.sku, mutation.attempt())
}

/// Members can be ignored of a body that nothing reads, and of one of a generic type.
#[idempotent(route = "orders.touch", fingerprint(ignore("/sent_at")))]
async fn touch(idem: Idempotency, Path(_): Path<i64>) {}

#[idempotent(route = "orders.any", fingerprint(ignore("/sent_at")))]
async fn generic<T: Send + 'static>(idem: Idempotency, _: Json<T>) {}

#[idempotent(route = "orders.place")]
async fn place(idem: &Idempotency, sku: &str) -> Result<String, AppError> {
    Ok(sku.to_owned())
}

async fn by_users(idem: Delegated, Json(order): Json<CreateOrder>) -> Result<String, AppError> {
    place(&idem, &order.sku).await
}

async fn by_senders(idem: Delegated<Sender>, Json(order): Json<CreateOrder>) -> Result<String, AppError> {
    place(&idem, &order.sku).await
}

fn carts() -> MethodRouter<App> {
    get(foreign_handler).post(exempt(reason!("a cart is no order"), foreign_handler).until("2027-01-31"))
}

fn main() {
    let _: Router<App> = Router::new()
        .route("/orders", post(create).delete(clear))
        .route("/orders/{id}", on(MethodFilter::DELETE, remove).put(touch))
        .route("/generic", put(generic::<CreateOrder>))
        .route("/paid", post(paid))
        .route("/users", post(by_users))
        .route("/senders", post(by_senders))
        .route("/carts", carts())
        .route("/search", any(read_only(foreign_handler)))
        .route("/closure", post(exempt("it changes nothing", || async {})))
        .fallback(read_only(foreign_handler));
}
