//! The service: its state, who may call it, and its routes.

use std::error::Error;
use std::path::PathBuf;

use axum::middleware::from_fn_with_state;
use example_support::{Flags, User, open, say, serve};
use idem_runtime::axum::{IdempotencyState, Router, post};
use idem_runtime::sqlite::Guard;
use idem_runtime::{KeyError, Scope};
use uuid::Uuid;

use crate::signature::Secret;
use crate::{events, orders, sender};

/// Holds the secret of the provider; without it the service makes one and says it.
pub(crate) const SECRET: &str = "WEBHOOKS_SECRET";

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS orders (order_id text PRIMARY KEY, paid integer NOT NULL DEFAULT 0)";

/// What every handler can reach.
#[derive(Clone)]
struct App(Guard);

impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = User;

    fn guard(&self) -> &Guard {
        &self.0
    }

    fn scope(user: &User) -> Result<Scope, KeyError> {
        user.scope()
    }
}

/// Serves until Ctrl-C.
pub(crate) async fn run(flags: Flags, folder: PathBuf) -> Result<(), Box<dyn Error>> {
    let pool = open(&folder).await?;
    sqlx::raw_sql(TABLE).execute(&pool).await?;
    let guard = Guard::builder(pool).migrate().build().await?;
    let secret = std::env::var(SECRET).unwrap_or_else(|_| {
        let secret = Uuid::new_v4().simple().to_string();
        say(&format!("the secret of the webhooks is {secret}\n"));
        secret
    });
    let verified = from_fn_with_state(Secret::new(secret), sender::verify);
    let router = Router::new()
        .route("/orders", post(orders::create))
        .route("/webhooks", post(events::paid).route_layer(verified))
        .with_state(App(guard.clone()))
        .into_axum();
    serve(flags.listen, router, guard).await
}
