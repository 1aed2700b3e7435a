//! The code of the README, compiled and run; what stands here is what stands there.
#![cfg(all(feature = "axum", feature = "sqlite"))]

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use idem_runtime::axum::IdempotencyState;
use idem_runtime::outbox::Delivery;
use idem_runtime::outbox_handler;
use idem_runtime::sqlite::{Claim, Guard};
use idem_runtime::{Error, IdempotencyKey, KeyError, Policy, Scope, Success};

// README
use idem_runtime::axum::{Router, exempt, post};
use idem_runtime::idempotent;
use idem_runtime::sqlite::{Idempotency, Mutation};

#[idempotent(route = "orders.create", retry_failed = false, bind = task_id)]
async fn create_order(
    idem: Idempotency,       // tenant, user and the Idempotency-Key header
    mutation: &mut Mutation, // the transaction; the attribute supplies it
    Json(input): Json<CreateOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    sqlx::query("INSERT INTO orders (sku) VALUES (?1)").bind(&input.sku).execute(&mut **mutation).await?;
    Ok((StatusCode::CREATED, Json(Order { sku: input.sku, task_id: "task-1".to_string() })))
}

fn app(guard: Guard) -> Router {
    Router::new()
        .route("/orders", post(create_order))
        .route("/login", post(exempt("a login may be repeated", login)))
        // .route("/carts", post(create_cart))   does not compile: it has no stance
        .with_state(App { guard })
}
// end

// README
impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = User; // your own extractor; its 401 comes before any claim

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn scope(user: &User) -> Result<Scope, KeyError> {
        Scope::new(&user.tenant, &user.id)
    }
}
// end

#[derive(Clone)]
struct App {
    guard: Guard,
}

struct User {
    tenant: String,
    id: String,
}

impl<S: Sync> FromRequestParts<S> for User {
    type Rejection = StatusCode;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        Err(StatusCode::UNAUTHORIZED)
    }
}

#[derive(serde::Deserialize)]
struct CreateOrder {
    sku: String,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Order {
    sku: String,
    task_id: String,
}

#[derive(Debug, thiserror::Error)]
enum AppError {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Guard(#[from] Error),
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }
}

async fn login() {}

async fn closure(pool: sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
    // README
    let guard = Guard::builder(pool).migrate().build().await?;
    let policy = Policy::new("orders.create")?;
    let request = guard.request(Scope::new("acme", "user-7")?, IdempotencyKey::new("k1")?).of("book")?;
    let order = guard
        .run(&policy, request, async |mutation: &mut Mutation| {
            sqlx::query("INSERT INTO orders (sku) VALUES ('book')").execute(&mut **mutation).await?;
            Ok::<_, AppError>(Success::new("ordered".to_string()).task_id("task-1"))
        })
        .await?;
    assert!(!order.is_replay());
    // end
    drop(app(guard));
    Ok(())
}

// README
#[outbox_handler(event = "order.created", version = 1, handler_key = "send-mail")]
async fn send_mail(delivery: &Delivery<Order>, mailer: &Mailer, claim: &Claim) -> Result<(), MailError> {
    mailer.send(&delivery.payload().sku, claim.downstream_key("mail")).await
}
// end

struct Mailer;

type MailError = String;

impl Mailer {
    async fn send(&self, _: &str, _: idem_runtime::DownstreamKey) -> Result<(), MailError> {
        std::future::ready(Ok(())).await
    }
}

#[tokio::test]
async fn the_code_of_the_readme_runs() {
    let pool =
        sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await.unwrap();
    sqlx::query("CREATE TABLE orders (sku TEXT)").execute(&pool).await.unwrap();
    closure(pool).await.unwrap();
}

#[test]
fn the_code_of_the_readme_is_this_code() {
    let readme = include_str!("../../README.md");
    let mut blocks = readme.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for region in include_str!("readme.rs").split("// README\n").skip(1).take(4) {
        let region = region.split("// end").next().unwrap().trim_end();
        let indent = region.len() - region.trim_start_matches(' ').len();
        let lines: Vec<_> = region.lines().map(|line| line.get(indent..).unwrap_or_default()).collect();
        assert_eq!(blocks.next().unwrap(), lines.join("\n") + "\n");
    }
    assert_eq!(blocks.next(), None);
}
