//! The service: its state, who may call it, its routes and its end.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use idem_runtime::axum::{IdempotencyState, Router, exempt, get, post};
use idem_runtime::{IdempotencyMutationGuard, KeyError, ReadPool, Scope};
use sqlx::Pool;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::database::ShopDatabase;
use crate::{orders, payments};

/// What every handler can reach.
pub(crate) struct Shop<D: ShopDatabase> {
    guard: IdempotencyMutationGuard<D>,
    /// For what only reads.
    pub(crate) reads: ReadPool<D>,
    /// Wakes the one who packs.
    pub(crate) packer: Arc<Notify>,
}

impl<D: ShopDatabase> Clone for Shop<D> {
    fn clone(&self) -> Self {
        Self { guard: self.guard.clone(), reads: self.reads.clone(), packer: Arc::clone(&self.packer) }
    }
}

impl<D: ShopDatabase> Shop<D> {
    /// Connects, makes the tables and builds the guard.
    pub(crate) async fn open(url: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let guard = IdempotencyMutationGuard::builder(D::open(url).await?).migrate().build().await?;
        D::create_tables(guard.pool()).await?;
        let reads = ReadPool::open(guard.pool()).await?;
        Ok(Self { guard, reads, packer: Arc::default() })
    }

    pub(crate) fn pool(&self) -> &Pool<D> {
        self.guard.pool()
    }

    fn routes(self) -> axum::Router {
        Router::new()
            .route("/orders", get(orders::list).post(orders::create))
            .route("/payments", post(payments::charge))
            .route("/login", post(exempt("a login may be repeated", login)))
            .with_state(self)
            .into_axum()
    }
}

/// Who is asking. A real service checks a session or a token here, and refuses with 401 as this one does.
pub(crate) struct Customer {
    pub(crate) tenant: String,
    user: String,
}

impl<S: Sync> FromRequestParts<S> for Customer {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let named = |name| -> Result<String, StatusCode> {
            let value = parts.headers.get(name).and_then(|value| value.to_str().ok());
            value.map(str::to_owned).ok_or(StatusCode::UNAUTHORIZED)
        };
        Ok(Self { tenant: named("x-tenant")?, user: named("x-user")? })
    }
}

impl<D: ShopDatabase> IdempotencyState for Shop<D> {
    type Store = D;
    type Identity = Customer;

    fn guard(&self) -> &IdempotencyMutationGuard<D> {
        &self.guard
    }

    fn scope(customer: &Customer) -> Result<Scope, KeyError> {
        Scope::new(&customer.tenant, &customer.user)
    }
}

async fn login() -> &'static str {
    "welcome"
}

/// The line by which the demo knows that a request stands still.
pub(crate) const STALLED: &str = "an order stands still";

/// Makes a body stand still after its first statement, so that the demo can kill the service there. It comes
/// with a header, which is no part of the fingerprint.
pub(crate) struct Stall(bool);

impl<S: Sync> FromRequestParts<S> for Stall {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.headers.contains_key("x-stall")))
    }
}

impl Stall {
    pub(crate) async fn here(&self) {
        if self.0 {
            say(STALLED);
            std::future::pending::<()>().await;
        }
    }
}

/// Writes a line at once, also when nobody reads it.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The line by which the demo learns the address.
pub(crate) const LISTENING: &str = "listening on http://";

/// Serves until Ctrl-C; then what is under way ends first.
pub(crate) async fn serve<D: ShopDatabase>(
    url: &str,
    address: SocketAddr,
    help: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let shop = Shop::<D>::open(url).await?;
    let guard = shop.guard.clone();
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("cannot listen on {address}, choose another one with --listen: {error}"))?;
    let address = listener.local_addr()?;
    let packing = tokio::spawn(orders::pack(shop.clone()));
    say(&format!("{LISTENING}{address}"));
    if help {
        say(&examples(address));
    }
    let ctrl_c = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    axum::serve(listener, shop.routes()).with_graceful_shutdown(ctrl_c).await?;
    packing.abort();
    guard.drain(Duration::from_secs(30)).await;
    Ok(())
}

fn examples(address: SocketAddr) -> String {
    let mut text = String::from("\nsend each of these twice and compare the answers:\n");
    let who = "-H 'x-tenant: acme' -H 'x-user: ada' -H 'content-type: application/json'";
    for (about, key, path, body) in [
        (
            "an order: the second answer has the header idempotent-replayed",
            "k1",
            "orders",
            r#"{"item":"book","quantity":1}"#,
        ),
        (
            "its key with another order: 422, nothing is done",
            "k1",
            "orders",
            r#"{"item":"book","quantity":7}"#,
        ),
        (
            "a payment that is declined at first: the same key may try again",
            "k2",
            "payments",
            r#"{"card":"declined-once","cents":1999}"#,
        ),
        ("a login is exempt, and says that it ignored the key", "k3", "login", "{}"),
    ] {
        let _ = write!(
            text,
            "\n# {about}\ncurl -i http://{address}/{path} {who} -H 'idempotency-key: {key}' -d '{body}'\n"
        );
    }
    text
}
