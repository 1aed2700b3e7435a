//! `#[idempotent]` on handlers and service functions, driven through axum without a network.
#![cfg(all(feature = "axum", feature = "sqlite"))]

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use idem_runtime::axum::{IdempotencyState, Router, exempt, post, put};
use idem_runtime::sqlite::{Delegated, Guard, Idempotency, Mutation};
use idem_runtime::{Error, KeyError, Scope, idempotent};
use serde::{Deserialize, Serialize};
use tower::ServiceExt;

struct User(String);

impl<S: Sync> FromRequestParts<S> for User {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let user = parts.headers.get("x-user").and_then(|value| value.to_str().ok());
        user.map(|user| Self(user.to_owned())).ok_or(StatusCode::UNAUTHORIZED)
    }
}

#[derive(Clone)]
struct App {
    guard: Guard,
}

impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = User;

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn scope(user: &User) -> Result<Scope, KeyError> {
        Scope::new("acme", &user.0)
    }
}

#[derive(Debug)]
enum AppError {
    Guard(Error),
    Sql,
    Busy,
    Invalid(&'static str),
}

impl From<Error> for AppError {
    fn from(error: Error) -> Self {
        Self::Guard(error)
    }
}

impl From<sqlx::Error> for AppError {
    fn from(_: sqlx::Error) -> Self {
        Self::Sql
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        match self {
            Self::Guard(error) => error.into_response(),
            Self::Sql => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            Self::Invalid(why) => (StatusCode::UNPROCESSABLE_ENTITY, why).into_response(),
        }
    }
}

#[derive(Deserialize)]
struct CreateOrder {
    sku: String,
}

#[derive(Serialize, Deserialize)]
struct Order {
    id: i64,
    sku: String,
    task_id: String,
}

/// Creates an order.
#[idempotent(route = "orders.create", retry_failed = false, bind = task_id, release_on(AppError::Busy))]
async fn create_order(
    idem: Idempotency,
    State(_app): State<App>,
    mutation: &mut Mutation,
    Json(input): Json<CreateOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    if input.sku.is_empty() {
        return Err(AppError::Invalid("a sku is needed"));
    }
    if input.sku == "busy" {
        return Err(AppError::Busy);
    }
    let id: i64 = sqlx::query_scalar("INSERT INTO orders (sku) VALUES (?1) RETURNING id")
        .bind(&input.sku)
        .fetch_one(&mut **mutation)
        .await?;
    Ok((StatusCode::CREATED, Json(Order { id, sku: input.sku, task_id: format!("task-{id}") })))
}

#[idempotent(route = "profiles.put")]
async fn put_profile(idem: Idempotency, Path(id): Path<u32>, mutation: &mut Mutation) -> String {
    sqlx::query("INSERT INTO orders (sku) VALUES ('profile')").execute(&mut **mutation).await.unwrap();
    format!("profile {id} attempt {}", mutation.attempt())
}

#[idempotent(route = "payments.charge")]
async fn charge(idem: Idempotency) -> impl IntoResponse {
    (StatusCode::ACCEPTED, idem.downstream_key("charge").to_string())
}

#[idempotent(route = "orders.place", status = 201)]
async fn place(idem: &Idempotency, mutation: &mut Mutation, sku: &str) -> Result<Order, AppError> {
    let id: i64 = sqlx::query_scalar("INSERT INTO orders (sku) VALUES (?1) RETURNING id")
        .bind(sku)
        .fetch_one(&mut **mutation)
        .await?;
    Ok(Order { id, sku: sku.to_owned(), task_id: String::new() })
}

async fn delegate(idem: Delegated) -> Result<Json<Order>, AppError> {
    Ok(Json(place(&idem, "book").await?))
}

async fn login() -> &'static str {
    "welcome"
}

async fn app() -> (axum::Router, Guard) {
    let pool =
        sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await.unwrap();
    sqlx::query("CREATE TABLE orders (id INTEGER PRIMARY KEY, sku TEXT)").execute(&pool).await.unwrap();
    let guard = Guard::builder(pool).migrate().build().await.unwrap();
    let router = Router::new()
        .route("/orders", post(create_order))
        .route("/profiles/{id}", put(put_profile))
        .route("/payments", post(charge))
        .route("/placed", post(delegate))
        .route("/login", post(exempt("a login may be repeated", login)))
        .with_state(App { guard: guard.clone() });
    (router.into_axum(), guard)
}

async fn send(app: &axum::Router, method: &str, path: &str, key: &str, body: &str) -> (StatusCode, Response) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("x-user", "u1")
        .header("idempotency-key", key)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_owned()))
        .unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    (response.status(), response)
}

async fn text(response: Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn a_handler_runs_once_and_its_retry_gets_the_same_bytes() {
    let (app, guard) = app().await;
    let (status, first) = send(&app, "POST", "/orders", "k1", r#"{"sku":"book"}"#).await;
    assert_eq!(status, StatusCode::CREATED);
    assert!(first.headers().contains_key("idempotency-key-expires"));
    assert!(!first.headers().contains_key("idempotent-replayed"));
    let first = text(first).await;
    let (status, second) = send(&app, "POST", "/orders", "k1", r#"{ "sku": "book" }"#).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!(second.headers()["idempotent-replayed"], "true");
    assert_eq!(second.headers()[header::CONTENT_TYPE], "application/json");
    assert_eq!(text(second).await, first);
    let (status, conflict) = send(&app, "POST", "/orders", "k1", r#"{"sku":"pen"}"#).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(text(conflict).await.contains("IDEMPOTENCY_KEY_CONFLICT"));
    let orders: i64 =
        sqlx::query_scalar("SELECT count(*) FROM orders").fetch_one(guard.pool()).await.unwrap();
    assert_eq!(orders, 1);
    let task: String =
        sqlx::query_scalar("SELECT task_id FROM idempotency_records").fetch_one(guard.pool()).await.unwrap();
    assert_eq!(task, "task-1");
}

#[tokio::test]
async fn an_err_is_recorded_and_a_released_one_runs_again() {
    let (app, _) = app().await;
    for replayed in [false, true] {
        let (status, failed) = send(&app, "POST", "/orders", "k", r#"{"sku":""}"#).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(failed.headers().contains_key("idempotent-replayed"), replayed);
        assert_eq!(text(failed).await, "a sku is needed");
        let (status, busy) = send(&app, "POST", "/orders", "b", r#"{"sku":"busy"}"#).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(!busy.headers().contains_key("idempotent-replayed"));
    }
}

#[tokio::test]
async fn the_concrete_path_is_part_of_the_request() {
    let (app, _) = app().await;
    let (status, _) = send(&app, "PUT", "/profiles/1", "k", "{}").await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = send(&app, "PUT", "/profiles/2", "k", "{}").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn an_external_handler_has_a_key_for_its_provider() {
    let (app, _) = app().await;
    let (status, first) = send(&app, "POST", "/payments", "k", "").await;
    assert_eq!(status, StatusCode::ACCEPTED);
    let first = text(first).await;
    assert_eq!(first.len(), 64);
    let (_, second) = send(&app, "POST", "/payments", "k", "").await;
    assert_eq!(second.headers()["idempotent-replayed"], "true");
    assert_eq!(text(second).await, first);
}

#[tokio::test]
async fn a_delegating_handler_runs_a_guarded_service_function_once() {
    let (app, guard) = app().await;
    let (status, first) = send(&app, "POST", "/placed", "k", "").await;
    assert_eq!(status, StatusCode::OK);
    let (_, second) = send(&app, "POST", "/placed", "k", "").await;
    assert_eq!(text(first).await, text(second).await);
    let orders: i64 =
        sqlx::query_scalar("SELECT count(*) FROM orders").fetch_one(guard.pool()).await.unwrap();
    assert_eq!(orders, 1);
}

#[tokio::test]
async fn what_refuses_before_the_body_leaves_no_record() {
    let (app, guard) = app().await;
    let plain = |user: bool, key: Option<&str>| {
        let mut request = Request::builder().method("POST").uri("/orders");
        if user {
            request = request.header("x-user", "u1");
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        request.header(header::CONTENT_TYPE, "application/json").body(Body::from("{")).unwrap()
    };
    for (request, status) in [
        (plain(false, None), StatusCode::UNAUTHORIZED),
        (plain(true, None), StatusCode::BAD_REQUEST),
        (plain(true, Some("a b")), StatusCode::BAD_REQUEST),
        (plain(true, Some("k")), StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(app.clone().oneshot(request).await.unwrap().status(), status);
    }
    let records: i64 =
        sqlx::query_scalar("SELECT count(*) FROM idempotency_records").fetch_one(guard.pool()).await.unwrap();
    assert_eq!(records, 0);
}

#[tokio::test]
async fn an_exempt_route_says_that_it_ignored_the_key() {
    let (app, _) = app().await;
    let (_, response) = send(&app, "POST", "/login", "k", "").await;
    assert_eq!(response.headers()["idempotency-status"], "ignored");
}
