//! Three services, each on its own node of a MariaDB Galera cluster.

mod errors;
mod settings;
mod stale;
mod zombie;

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::mysql::{self, wait_for_other_nodes};
use idem_runtime::store::Store;
use idem_test_support::galera::{Galera, NODES};
use idem_tests::OnMysql;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::{MySql, MySqlPool};

use crate::load::Load;
use crate::rounds;

/// A pool on one node, whose sessions wait for the others.
pub(crate) fn pool(cluster: &Galera, node: usize) -> MySqlPool {
    let options = MySqlPoolOptions::new().max_connections(10).acquire_timeout(Duration::from_secs(2));
    let options = options.after_connect(|connection, _| Box::pin(wait_for_other_nodes(connection)));
    options.connect_lazy_with(cluster.options(node))
}

async fn guard(cluster: &Galera, node: usize) -> mysql::Guard {
    let builder = mysql::Guard::builder(pool(cluster, node));
    builder.statement_timeout(Duration::from_secs(2)).build().await.unwrap()
}

/// One cluster for all faults, as it takes longer to start than to break.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_a_galera_node_acknowledged_survives_its_faults_and_no_effect_is_doubled() {
    let mut cluster = Galera::start().await;
    let first = pool(&cluster, 0);
    MySql::migrate(&first).await.unwrap();
    for table in [
        "CREATE TABLE effects (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARBINARY(255) NOT NULL)",
        "CREATE TABLE stock (id BIGINT PRIMARY KEY, pieces BIGINT NOT NULL)",
        "INSERT INTO stock VALUES (1, 100)",
    ] {
        sqlx::raw_sql(table).execute(&first).await.unwrap();
    }
    settings::a_node_is_refused_whose_settings_break_a_promise(&cluster).await;
    let mut guards = Vec::new();
    for node in 0..NODES {
        guards.push(guard(&cluster, node).await);
    }
    let load = Load::<OnMysql>::on(guards);
    stale::a_node_that_lags_behind_waits_and_does_not_run_the_body_again(&cluster, &load).await;
    errors::each_error_of_a_cluster_is_what_the_table_says(&cluster, &load).await;
    errors::a_commit_that_lost_its_certification_has_kept_nothing(&load).await;
    for round in 0..rounds() {
        let zombie = zombie::a_zombie_on_a_node_that_was_frozen_cannot_complete(&cluster, &load, round);
        Box::pin(zombie).await;
        every_key_has_one_effect_while_nodes_fail(&mut cluster, &load, round).await;
        nothing_runs_without_quorum_and_nothing_is_lost_with_all_nodes(&mut cluster, &load, round).await;
    }
}

async fn every_key_has_one_effect_while_nodes_fail(
    cluster: &mut Galera,
    load: &Arc<Load<OnMysql>>,
    round: usize,
) {
    load.during(&format!("killed-{round}"), async || {
        cluster.kill(2).await;
        load.more_acknowledgements(20).await;
        cluster.start_node(2).await;
    })
    .await;
    load.during(&format!("isolated-{round}"), async || {
        cluster.isolate(1).await;
        cluster.has_no_quorum(1).await;
        load.is_refused_at(1, "isolated").await;
        load.more_acknowledgements(20).await;
        cluster.reconnect(1).await;
        cluster.synced(1).await;
    })
    .await;
    load.check().await;
}

async fn nothing_runs_without_quorum_and_nothing_is_lost_with_all_nodes(
    cluster: &mut Galera,
    load: &Arc<Load<OnMysql>>,
    round: usize,
) {
    load.during(&format!("quorum-{round}"), async || {
        cluster.kill(1).await;
        cluster.kill(2).await;
        cluster.has_no_quorum(0).await;
        load.is_refused_at(0, "quorum").await;
        cluster.spawn_node(1);
        cluster.spawn_node(2);
        for node in 0..NODES {
            cluster.synced(node).await;
        }
    })
    .await;
    load.during(&format!("all-{round}"), async || {
        for node in 0..NODES {
            cluster.kill(node).await;
        }
        cluster.recover().await;
    })
    .await;
    load.check().await;
}
