//! One round on a fresh database: load and faults, then quiet, then the last requests and the tables.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tokio::task::JoinSet;

use super::ask::Round;
use super::place::Place;
use super::provider::Provider;
use super::slot::{Slot, Start, faketime};
use super::{Options, Result, clients, server};
use crate::log::Log;
use crate::plan::{Database, Plan};

/// How many processes share the database.
pub(super) const PROCESSES: usize = 3;
const CLIENTS: u64 = 18;
/// More than the longest lease: that of a transaction on SQLite, which is its `max_run`.
const LEASES_LAPSE: Duration = Duration::from_millis(2500);

/// The plans go on from round to round.
pub(super) struct Plans {
    processes: Vec<Plan>,
    server: Plan,
}

impl Plans {
    pub(super) fn new(seed: u64, database: Database) -> Self {
        if faketime().is_none() {
            println!("left out: wrong clocks, as libfaketime is not installed");
        }
        let processes = (0..PROCESSES).map(|process| Plan::of_process(seed, database, process)).collect();
        Self { processes, server: Plan::of_server(seed, database) }
    }
}

/// Runs a round until `wanted` faults have struck, and gives its log.
pub(super) async fn run(
    options: &Options,
    database: Database,
    plans: &mut Plans,
    number: u64,
    wanted: usize,
) -> Result<Log> {
    let place = Arc::new(Place::create(options, database).await?);
    let round = Arc::new(Round::new(PROCESSES)?);
    let provider = Provider::start().await?;
    let start =
        Start { service: service(options)?, provider: provider.url.clone(), unguarded: options.break_it };
    let mut slots = Vec::new();
    for process in 0..PROCESSES {
        slots.push(Slot::new(process, Arc::clone(&round), Arc::clone(&place), start.clone()).await?);
    }
    let mut load = JoinSet::new();
    for client in 0..CLIENTS {
        let seed = options.seed ^ (number << 20) ^ (client << 8) ^ database as u64;
        load.spawn(clients::client(Arc::clone(&round), Rng::with_seed(seed)));
    }
    let limit = Duration::from_secs(options.round_seconds);
    let striking = futures_util::future::try_join_all(
        slots.into_iter().zip(&mut plans.processes).map(|(slot, plan)| slot.run(plan)),
    );
    let (slots, (), ()) = futures_util::try_join!(
        striking,
        strike_server(&round, &place, &mut plans.server),
        until_enough(&round, wanted, limit)
    )?;
    let mut sent = Vec::new();
    while let Some(done) = load.join_next().await {
        sent.extend(done?);
    }
    tokio::time::sleep(LEASES_LAPSE).await;
    clients::ask_last(&round, &sent).await;
    let (mut effects, undelivered) = place.read().await?;
    for mut slot in slots {
        slot.process.kill().await;
    }
    effects.extend(provider.effects());
    let log = std::mem::take(&mut *round.log());
    if let Some(place) = Arc::into_inner(place) {
        place.end().await?;
    }
    Ok(Log { effects, undelivered, ..log })
}

/// The program beside this one, unless another was named.
fn service(options: &Options) -> Result<PathBuf> {
    match &options.service {
        Some(service) => Ok(service.clone()),
        None => Ok(std::env::current_exe()?.with_file_name("faulty-service")),
    }
}

async fn until_enough(round: &Round, wanted: usize, limit: Duration) -> Result<()> {
    let start = tokio::time::Instant::now();
    while round.log().struck.len() < wanted && start.elapsed() < limit {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    round.over.send_replace(true);
    Ok(())
}

async fn strike_server(round: &Round, place: &Place, plan: &mut Plan) -> Result<()> {
    let Some(control) = place.control else { return Ok(()) };
    let mut over = round.over.subscribe();
    for planned in plan {
        tokio::select! {
            _ = over.wait_for(|over| *over) => break,
            () = tokio::time::sleep(planned.pause) => {}
        }
        server::restart(control, planned.fault).await?;
        round.struck(planned.fault.name(), String::new());
    }
    Ok(())
}
