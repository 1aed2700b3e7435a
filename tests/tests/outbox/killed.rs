//! Dispatchers that are killed again and again under load: nothing is lost, doubled or out of order.

use idem_runtime::outbox::Event;
use idem_runtime::store::EventStatus;
use idem_test_support::process::Process;
use idem_tests::on_every_database;

use crate::*;

/// In the suite; `IDEM_TEST_KILLS` asks for more.
const KILLS: usize = 40;
const DISPATCHERS: usize = 3;
pub(crate) const AGGREGATES: usize = 12;

#[derive(Serialize)]
struct Move {
    aggregate: String,
    number: usize,
}

pub(crate) async fn start<F: WithOutbox>(fixture: &F) -> Process {
    let mut process = Process::spawn(env!("CARGO_BIN_EXE_dispatcher"), ["--database-url", &fixture.url()]);
    process.wait_for("running").await;
    process
}

/// Publishes one more event per aggregate of each kind, in one transaction; again as long as the store is too busy,
/// as a client does.
pub(crate) async fn publish_round<F: WithOutbox>(guard: &Guard<F>, number: usize) {
    loop {
        let request = guard.request(scope(), key(&format!("round-{number}"))).of(&number).unwrap();
        let published = guard
            .operation(&policy(), request)
            .release_on(|error| matches!(error, Busy::Sql))
            .run(async |mutation: &mut Mutation<F::S>| {
                for aggregate in 0..AGGREGATES {
                    let moved = Move { aggregate: format!("a{aggregate}"), number };
                    let event = Event::new("load.moved", 1, &moved).aggregate(&moved.aggregate);
                    mutation.publish(event).await?;
                    mutation.publish(Event::new("load.charged", 1, &moved)).await?;
                }
                Ok(Success::new(()))
            })
            .await;
        match published {
            Ok(_) => return,
            Err(Busy::Sql | Busy::Guard(Error::StoreUnavailable(_) | Error::InProgress { .. })) => {}
            Err(Busy::Guard(error)) => panic!("{error:?}"),
        }
    }
}

enum Busy {
    /// The database refused a statement of the body.
    Sql,
    Guard(Error),
}

impl From<sqlx::Error> for Busy {
    fn from(_: sqlx::Error) -> Self {
        Self::Sql
    }
}

impl From<Error> for Busy {
    fn from(error: Error) -> Self {
        Self::Guard(error)
    }
}

pub(crate) async fn pending<F: WithOutbox>(guard: &Guard<F>) -> i64 {
    let mut connection = guard.pool().acquire().await.unwrap();
    let count = "SELECT count(*) FROM idempotency_outbox_events WHERE status = 'pending'";
    F::number(&mut connection, count).await.unwrap()
}

async fn dispatchers_that_are_killed_lose_double_and_reorder_nothing<F: WithOutbox>() {
    let fixture = F::create().await;
    let guard = fixture.guard(4).await;
    // What the handlers take for their provider refuses a key that it has seen.
    execute::<F>(&guard, "CREATE UNIQUE INDEX effects_name ON effects (name)").await;
    let mut running = Vec::new();
    for _ in 0..DISPATCHERS {
        running.push(start(&fixture).await);
    }
    let mut rounds = 0;
    let kills = std::env::var("IDEM_TEST_KILLS").map_or(KILLS, |kills| kills.parse().expect("a number"));
    for kill in 0..kills {
        if pending::<F>(&guard).await < 200 {
            publish_round::<F>(&guard, rounds).await;
            rounds += 1;
        }
        // At whatever step it is: between two of them lie a few hundred microseconds.
        tokio::time::sleep(Duration::from_micros(pause(kill))).await;
        let mut victim = running.swap_remove(kill % DISPATCHERS);
        victim.kill().await;
        running.push(start(&fixture).await);
    }
    while pending::<F>(&guard).await > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for mut process in running {
        process.kill().await;
    }

    let events = all_took_effect_once_and_in_order::<F>(&guard, rounds).await;
    let interrupted = events.iter().filter(|event| event.attempt > 1).count();
    assert!(interrupted > 0, "no kill met a delivery");
}

pub(crate) async fn all_took_effect_once_and_in_order<F: WithOutbox>(
    guard: &Guard<F>,
    rounds: usize,
) -> Vec<StoredEvent> {
    let events = events::<F>(guard).await;
    assert_eq!(events.len(), rounds * AGGREGATES * 2);
    assert!(events.iter().all(|event| event.status == EventStatus::Delivered));
    // The names are unique, so this many rows are one for each event.
    let mut connection = guard.pool().acquire().await.unwrap();
    let disorder = "SELECT count(*) FROM effects WHERE name LIKE 'disorder%'";
    assert_eq!(F::number(&mut connection, disorder).await.unwrap(), 0);
    let effects = F::number(&mut connection, "SELECT count(*) FROM effects").await.unwrap();
    assert_eq!(effects, i64::try_from(events.len()).unwrap());
    events
}

/// Microseconds up to 30 ms, different from kill to kill and the same in each run.
fn pause(seed: usize) -> u64 {
    (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 & 0x7FFF
}

on_every_database! {
    dispatchers_that_are_killed_lose_double_and_reorder_nothing,
}
