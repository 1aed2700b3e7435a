//! The process that takes orders: its state, who may call it, its routes and its end.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use idem_runtime::axum::{IdempotencyState, Router, post};
use idem_runtime::{IdempotencyMutationGuard, KeyError, Scope};
use tokio::net::TcpListener;

use crate::database::OrdersDatabase;
use crate::orders;

/// What every handler of requests can reach.
pub(crate) struct Service<D: OrdersDatabase>(IdempotencyMutationGuard<D>);

impl<D: OrdersDatabase> Clone for Service<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D: OrdersDatabase> IdempotencyState for Service<D> {
    type Store = D;
    type Identity = Customer;

    fn guard(&self) -> &IdempotencyMutationGuard<D> {
        &self.0
    }

    fn scope(customer: &Customer) -> Result<Scope, KeyError> {
        Scope::new(&customer.tenant, &customer.user)
    }
}

/// Who is asking. A real service checks a session or a token here, and refuses with 401 as this one does.
pub(crate) struct Customer {
    tenant: String,
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

/// Connects, makes the tables and builds the guard.
pub(crate) async fn open<D: OrdersDatabase>(
    url: &str,
) -> Result<IdempotencyMutationGuard<D>, Box<dyn std::error::Error>> {
    let guard = IdempotencyMutationGuard::builder(D::open(url).await?).migrate().build().await?;
    D::create_tables(guard.pool()).await?;
    Ok(guard)
}

/// Writes a line at once, also when nobody reads it.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The line by which the demo learns the address.
pub(crate) const LISTENING: &str = "listening on http://";

/// Serves until Ctrl-C; then what is under way ends first.
pub(crate) async fn serve<D: OrdersDatabase>(
    url: &str,
    address: SocketAddr,
    help: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    let guard = open::<D>(url).await?;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("cannot listen on {address}, choose another one with --listen: {error}"))?;
    let address = listener.local_addr()?;
    let routes =
        Router::new().route("/orders", post(orders::create)).with_state(Service(guard.clone())).into_axum();
    say(&format!("{LISTENING}{address}"));
    if help {
        say(&format!(
            "\nsend this twice and compare the answers; `--dispatch` in another process delivers its events:\n\n\
             curl -i http://{address}/orders -H 'x-tenant: acme' -H 'x-user: ada' -H 'idempotency-key: k1' \
             -H 'content-type: application/json' -d '{{\"item\":\"book\",\"quantity\":1}}'"
        ));
    }
    let ctrl_c = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    axum::serve(listener, routes).with_graceful_shutdown(ctrl_c).await?;
    guard.drain(Duration::from_secs(30)).await;
    Ok(())
}
