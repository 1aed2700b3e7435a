//! The process that delivers events.

use std::net::SocketAddr;
use std::time::Duration;

use idem_runtime::outbox::Dispatcher;

use crate::database::OrdersDatabase;
use crate::handlers::App;
use crate::mail::Mailer;
use crate::service::{open, say};

/// The line by which the demo knows that a dispatcher is up.
pub(crate) const DELIVERING: &str = "delivering events";

/// Delivers until Ctrl-C; then what is under way ends first.
///
/// Lease and pauses are short because the demo waits for them; left out, they fit a service.
pub(crate) async fn run<D: OrdersDatabase>(
    url: &str,
    provider: SocketAddr,
    dawdle: Duration,
) -> Result<(), Box<dyn std::error::Error>> {
    let dispatcher = Dispatcher::builder(open::<D>(url).await?)
        .state(App { mailer: Mailer::new(provider), dawdle })
        .concurrency(3)
        .lease(Duration::from_secs(2))
        .look_every(Duration::from_millis(200))
        .pauses(Duration::from_millis(100), Duration::from_secs(1))
        .build()
        .await?;
    let running = dispatcher.spawn();
    say(DELIVERING);
    let _ = tokio::signal::ctrl_c().await;
    running.shutdown().await;
    Ok(())
}
