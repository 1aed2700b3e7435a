//! Runs the service and three dispatchers, kills dispatchers in the middle of their work, and counts.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{ready, select_all, try_join};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use idem_runtime::IdempotencyMutationGuard;
use idem_runtime::store::{EventFilter, EventStatus};

use crate::client::Client;
use crate::database::OrdersDatabase;
use crate::error::DemoError;
use crate::process::Process;
use crate::provider::Provider;
use crate::summary::Summary;

/// How many orders are placed at least; more as long as there is still a dispatcher to kill.
const ORDERS: i64 = 40;
/// How many of them at once.
const AT_ONCE: usize = 3;
/// The pause after each, so that the dispatchers keep up.
const PAUSE: Duration = Duration::from_millis(100);
/// How many dispatchers run.
const DISPATCHERS: usize = 3;
/// How many of them are killed.
const KILLS: usize = 12;
/// Nothing here takes this long; without an end a defect would look like a slow machine.
const TOO_LONG: Duration = Duration::from_mins(3);

/// Prepares the database, plays all steps and prints the result as the last line.
pub(crate) async fn run<D: OrdersDatabase>(url: &str) -> Result<(), DemoError> {
    let guard = IdempotencyMutationGuard::builder(D::open(url).await?).migrate().build().await?;
    D::create_tables(guard.pool()).await?;
    let (provider, mail) = Provider::start().await?;
    let (_service, authority) = Process::service(url).await?;
    println!("{}, the service on http://{authority}, the mail provider on http://{mail}\n", D::NAME);
    let client = Client::new(authority);
    let played = tokio::time::timeout(TOO_LONG, play::<D>(url, mail, &guard, &client)).await;
    let summary = Summary::count(&guard, &client, &provider).await?;
    println!("{summary}");
    played.unwrap_or_else(|_| Err(DemoError::unexpected("the demo", "a pause of three minutes")))?;
    summary.verdict()
}

async fn play<D: OrdersDatabase>(
    url: &str,
    mail: SocketAddr,
    guard: &IdempotencyMutationGuard<D>,
    client: &Client,
) -> Result<(), DemoError> {
    let mut dispatchers = Vec::new();
    for _ in 0..DISPATCHERS {
        dispatchers.push(Process::dispatcher(url, mail).await?);
    }
    show("1", "dispatchers run", &DISPATCHERS.to_string());
    let all_killed = AtomicBool::new(false);
    let killing = async {
        kill_dispatchers(url, mail, &mut dispatchers).await?;
        all_killed.store(true, Ordering::Relaxed);
        Ok(())
    };
    try_join(place_orders(client, &all_killed), killing).await?;
    show("2", "orders, each sent three times", &client.placed.load(Ordering::Relaxed).to_string());
    show("", "dispatchers killed in the middle of a handler", &KILLS.to_string());
    let mut looks = 0;
    while is_pending(guard, &client.tenant).await? {
        looks += 1;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    show("3", "all events are delivered", &format!("{looks} looks\n"));
    Ok(())
}

async fn place_orders(client: &Client, all_killed: &AtomicBool) -> Result<(), DemoError> {
    let numbers =
        stream::iter(0..).take_while(|number| ready(*number < ORDERS || !all_killed.load(Ordering::Relaxed)));
    let place = async |number| {
        client.place(number).await?;
        tokio::time::sleep(PAUSE).await;
        Ok(())
    };
    numbers.map(place).buffer_unordered(AT_ONCE).try_collect().await
}

/// Kills whichever dispatcher is at work, and starts another in its place, time after time.
async fn kill_dispatchers(url: &str, mail: SocketAddr, dispatchers: &mut [Process]) -> Result<(), DemoError> {
    for _ in 0..KILLS {
        let at_work = dispatchers.iter_mut().map(|dispatcher| Box::pin(dispatcher.at_work()));
        let (found, victim, _) = select_all(at_work).await;
        found?;
        dispatchers[victim].kill().await?;
        dispatchers[victim] = Process::dispatcher(url, mail).await?;
        // So that the first one is not the victim each time that two are at work.
        dispatchers.rotate_left(1);
    }
    Ok(())
}

/// Whether an event of this run is not yet with all its handlers.
async fn is_pending<D: OrdersDatabase>(
    guard: &IdempotencyMutationGuard<D>,
    tenant: &str,
) -> Result<bool, DemoError> {
    let tenant = Some(tenant.to_owned());
    let filter = EventFilter { status: Some(EventStatus::Pending), tenant, ..EventFilter::default() };
    let mut connection = guard.pool().acquire().await?;
    Ok(!D::events(&mut connection, &filter, 1).await?.is_empty())
}

fn show(step: &str, done: &str, came: &str) {
    println!("{step:<3}{done:<48}{came}");
}
