//! How an example serves, and how it ends.

use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use idem_runtime::sqlite::Guard;
use tokio::net::TcpListener;

/// The line by which a demo learns the address.
pub(crate) const LISTENING: &str = "listening on http://";

/// Writes a line at once, also when nobody reads it.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Serves until Ctrl-C; then what is under way ends first.
pub async fn serve(address: SocketAddr, router: axum::Router, guard: Guard) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("cannot listen on {address}, choose another one with --listen: {error}"))?;
    say(&format!("{LISTENING}{}", listener.local_addr()?));
    let ctrl_c = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    axum::serve(listener, router).with_graceful_shutdown(ctrl_c).await?;
    guard.drain(Duration::from_secs(30)).await;
    Ok(())
}
