//! Every shape of a handler, in a strict crate.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, clippy::pedantic)]

use idem_runtime::outbox::Delivery;
use idem_runtime::sqlite::{Claim, Mutation};
use idem_runtime::{outbox_handler, service};
use idem_ui_tests::Order;

/// What handlers share.
#[derive(Debug)]
pub struct App;

/// Writes rows.
///
/// # Errors
///
/// When the database is away.
#[outbox_handler(event = "order.created", version = 1, handler_key = "rows")]
pub async fn rows(delivery: &Delivery<Order>, mutation: &mut Mutation) -> sqlx::Result<()> {
    let insert = sqlx::query("INSERT INTO shipped VALUES (?1)").bind(delivery.payload().id);
    insert.execute(&mut **mutation).await?;
    Ok(())
}

#[idem_runtime::outbox_handler(event = "order.created", version = 1, handler_key = "app-first", retry_failed = false)]
async fn app_first(_: &Delivery<Order>, _: &App, mutation: &mut Mutation) -> Result<(), String> {
    let _ = mutation.attempt();
    std::future::ready(Ok(())).await
}

#[outbox_handler(event = "order.created", version = 2, handler_key = "app-last", ttl = "30d", lease = "1m", max_run = "1h")]
async fn app_last(delivery: &Delivery<Vec<Order>>, mutation: &mut Mutation, app: &App) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let _ = (delivery, app, mutation.attempt());
    std::future::ready(Ok(())).await
}

#[service]
mod outside {
    use super::{App, Claim, Delivery, Order, outbox_handler};

    #[outbox_handler(event = "order.paid", version = 1, handler_key = "mail", on_lapse = "refuse")]
    #[tracing::instrument(skip_all, err)]
    pub(super) async fn mail(delivery: &Delivery<Order>, claim: &Claim, app: &App) -> Result<(), String> {
        let _ = (delivery, app, claim.downstream_key("mail"));
        std::future::ready(Ok(())).await
    }
}

fn main() {
    let keys: Vec<&str> = idem_runtime::outbox::handlers().iter().map(|handler| handler.handler_key()).collect();
    assert_eq!(keys, ["app-first", "rows", "app-last", "mail"]);
    let stances = idem_runtime::registry::stances();
    assert!(stances.iter().any(|stance| stance.route() == Some("outbox:order.paid:1:mail")));
    let _ = outside::mail;
}
