//! Handlers that utoipa describes: its attribute above ours, and its router with checked methods.
#![cfg(all(feature = "axum", feature = "sqlite"))]

use std::convert::Infallible;

use axum::Json;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Request, StatusCode};
use idem_runtime::axum::{IdempotencyState, MethodRouter, Router, exempt, post};
use idem_runtime::sqlite::{Guard, Idempotency, Mutation};
use idem_runtime::{KeyError, Scope, idempotent};
use serde::{Deserialize, Serialize};
use tower::ServiceExt;
use utoipa::{OpenApi, ToSchema};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

#[derive(Clone)]
struct App {
    guard: Guard,
}

struct User;

impl<S: Sync> FromRequestParts<S> for User {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self)
    }
}

impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = User;

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn scope(_: &User) -> Result<Scope, KeyError> {
        Scope::new("acme", "user-7")
    }
}

#[derive(Serialize, Deserialize, ToSchema)]
struct Order {
    sku: String,
    attempt: i64,
}

#[derive(Deserialize, ToSchema)]
struct CreateOrder {
    sku: String,
}

#[utoipa::path(post, path = "/orders", request_body = CreateOrder, responses((status = 201, body = Order)),
               params(("Idempotency-Key" = String, Header, description = "the same with each retry")))]
#[idempotent(route = "orders.create")]
async fn create_order(
    idem: Idempotency,
    mutation: &mut Mutation,
    Json(input): Json<CreateOrder>,
) -> (StatusCode, Json<Order>) {
    (StatusCode::CREATED, Json(Order { sku: input.sku, attempt: mutation.attempt() }))
}

#[utoipa::path(post, path = "/login", responses((status = 200, body = String)))]
async fn login() -> &'static str {
    "welcome"
}

/// The description of `routes!`, with methods whose stance the compiler has seen.
fn checked<S>(described: UtoipaMethodRouter<S>, methods: MethodRouter<S>) -> UtoipaMethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let (schemas, paths, _unchecked) = described;
    (schemas, paths, methods.into_axum())
}

async fn app() -> App {
    let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:");
    App { guard: Guard::builder(pool.await.unwrap()).migrate().build().await.unwrap() }
}

/// Status of the answer, and the one header that comes with it.
async fn ask(router: &axum::Router, path: &str, header: &str) -> (u16, Option<String>) {
    let request =
        Request::post(path).header("idempotency-key", "k").header("content-type", "application/json");
    let request = request.body(Body::from(r#"{"sku":"book"}"#)).unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let value = response.headers().get(header).map(|value| value.to_str().unwrap().to_owned());
    (response.status().as_u16(), value)
}

/// Whether both routes are served as declared.
async fn serves_what_it_declares(router: &axum::Router) {
    assert_eq!(ask(router, "/orders", "idempotent-replayed").await, (201, None));
    assert_eq!(ask(router, "/orders", "idempotent-replayed").await, (201, Some("true".to_owned())));
    assert_eq!(ask(router, "/login", "idempotency-status").await, (200, Some("ignored".to_owned())));
}

/// Whether the description has both, with the body that the handler takes.
fn describes_both(api: &utoipa::openapi::OpenApi) {
    let api = serde_json::to_value(api).unwrap();
    let order = &api["paths"]["/orders"]["post"];
    assert_eq!(order["parameters"][0]["name"], "Idempotency-Key");
    assert!(
        order["requestBody"].is_object() && api["components"]["schemas"]["CreateOrder"].is_object(),
        "{api}"
    );
    assert!(api["paths"]["/login"]["post"].is_object(), "{api}");
}

#[tokio::test]
async fn the_router_of_utoipa_takes_checked_methods() {
    let (router, api) = OpenApiRouter::new()
        .routes(checked(routes!(create_order), post(create_order)))
        .routes(checked(routes!(login), post(exempt("a login may be repeated", login))))
        .with_state(app().await)
        .split_for_parts();
    describes_both(&api);
    serves_what_it_declares(&router).await;
}

#[derive(OpenApi)]
#[openapi(paths(create_order, login))]
struct Api;

#[tokio::test]
async fn a_description_beside_the_typed_router_needs_no_bridge() {
    let router = Router::new()
        .route("/orders", post(create_order))
        .route("/login", post(exempt("a login may be repeated", login)))
        .with_state(app().await)
        .into_axum();
    describes_both(&Api::openapi());
    serves_what_it_declares(&router).await;
}
