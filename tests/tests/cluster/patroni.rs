//! PostgreSQL under Patroni, which decides on its own which server is the primary.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::postgres::Guard;
use idem_runtime::store::Store;
use idem_test_support::patroni::Patroni;
use idem_tests::OnPostgres;
use sqlx::Postgres;
use sqlx::postgres::PgPoolOptions;

use crate::load::Load;
use crate::rounds;

/// Three services that reach the primary through HAProxy.
async fn services(cluster: &Patroni) -> Arc<Load<OnPostgres>> {
    let mut guards = Vec::new();
    for _ in 0..3 {
        let options = PgPoolOptions::new().max_connections(10).acquire_timeout(Duration::from_secs(2));
        let builder = Guard::builder(options.connect_lazy_with(cluster.options()));
        guards.push(builder.statement_timeout(Duration::from_secs(2)).build().await.unwrap());
    }
    Load::on(guards)
}

/// One cluster for all faults, as in the suite of Galera.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_a_primary_acknowledged_is_found_whatever_patroni_decides() {
    let mut cluster = Patroni::start().await;
    let first = PgPoolOptions::new().connect_with(cluster.options()).await.unwrap();
    Postgres::migrate(&first).await.unwrap();
    sqlx::raw_sql("CREATE TABLE effects (name text NOT NULL)").execute(&first).await.unwrap();
    first.close().await;
    let load = services(&cluster).await;
    for round in 0..rounds() {
        load.during(&format!("lost-{round}"), async || {
            let primary = cluster.a_primary_other_than(None).await;
            cluster.kill(primary).await;
            cluster.a_primary_other_than(Some(primary)).await;
            load.more_acknowledgements(20).await;
            cluster.revive(primary);
            cluster.whole().await;
        })
        .await;
        load.check().await;
        load.during(&format!("frozen-{round}"), async || {
            let primary = cluster.a_primary_other_than(None).await;
            cluster.freeze(primary);
            cluster.a_primary_other_than(Some(primary)).await;
            load.more_acknowledgements(20).await;
            cluster.thaw(primary);
            cluster.whole().await;
        })
        .await;
        load.check().await;
        // For some seconds two servers say that they are no standby; strict mode lets neither lose a commit.
        load.during(&format!("unwatched-{round}"), async || {
            let primary = cluster.a_primary_other_than(None).await;
            cluster.freeze_watcher(primary);
            cluster.a_primary_other_than(Some(primary)).await;
            load.more_acknowledgements(20).await;
            // As a watchdog does: a Patroni that wakes up may take the lead back, and quarrels about it for minutes.
            cluster.kill(primary).await;
            cluster.revive(primary);
            cluster.whole().await;
        })
        .await;
        load.check().await;
    }
}
