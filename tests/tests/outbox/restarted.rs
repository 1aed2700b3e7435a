//! The database crashes and starts again while a backlog is drained.

use idem_test_support::postgres::PostgresDatabase;
use idem_test_support::restartable::RestartablePostgres;
use idem_tests::OnPostgres;

use crate::killed::{AGGREGATES, all_took_effect_once_and_in_order, pending, publish_round, start};
use crate::*;

const ROUNDS: usize = 60;
const CRASHES: i64 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_crashes_in_the_middle_of_a_drain_loses_doubles_and_reorders_nothing() {
    let mut server = RestartablePostgres::start().await;
    let fixture = OnPostgres::with_tables(PostgresDatabase::create_on(server.options()).await).await;
    let guard = fixture.guard(4).await;
    execute::<OnPostgres>(&guard, "CREATE UNIQUE INDEX effects_name ON effects (name)").await;
    for round in 0..ROUNDS {
        publish_round::<OnPostgres>(&guard, round).await;
    }
    let mut dispatchers = [start(&fixture).await, start(&fixture).await];
    let all = i64::try_from(ROUNDS * AGGREGATES * 2).unwrap();
    let mut met = 0;
    for crash in 1..=CRASHES {
        // A part of the backlog is left for each.
        let left = loop {
            let left = pending::<OnPostgres>(&guard).await;
            if left <= all * (CRASHES + 1 - crash) / (CRASHES + 1) {
                break left;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        met += i64::from(left > 0);
        server.crash_and_restart().await;
    }
    assert!(met > 0, "no crash met a backlog");
    while pending::<OnPostgres>(&guard).await > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for dispatcher in &mut dispatchers {
        dispatcher.kill().await;
    }
    all_took_effect_once_and_in_order::<OnPostgres>(&guard, ROUNDS).await;
}
