//! A PostgreSQL primary that is lost under load, and a standby that takes over.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::BuildError;
use idem_runtime::postgres::Guard;
use idem_runtime::store::Store;
use idem_test_support::proxy::Proxy;
use idem_test_support::standbys::Standbys;
use idem_tests::OnPostgres;
use sqlx::Postgres;
use sqlx::postgres::PgPoolOptions;

use crate::load::Load;
use crate::rounds;

/// Three services that reach the primary through what leads them to it, as a proxy or a name does.
async fn services(cluster: &Standbys, lead: &Proxy) -> Arc<Load<OnPostgres>> {
    let mut guards = Vec::new();
    for _ in 0..3 {
        let options = PgPoolOptions::new().max_connections(10).acquire_timeout(Duration::from_secs(2));
        let pool = options.connect_lazy_with(cluster.options_through(lead.addr()));
        let builder = Guard::builder(pool).statement_timeout(Duration::from_secs(2));
        guards.push(builder.build().await.unwrap());
    }
    Load::on(guards)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_a_primary_acknowledged_is_found_after_a_fail_over() {
    for _ in 0..rounds() {
        let mut cluster = Standbys::start().await;
        let lead = Proxy::start_blind(cluster.address(cluster.primary()));
        let direct = PgPoolOptions::new().connect_with(cluster.options(0)).await.unwrap();
        Postgres::migrate(&direct).await.unwrap();
        sqlx::raw_sql("CREATE TABLE effects (name text NOT NULL)").execute(&direct).await.unwrap();
        direct.close().await;
        a_standby_is_refused_by_name(&cluster).await;

        let load = services(&cluster, &lead).await;
        load.during("lost", async || {
            cluster.kill_primary().await;
            cluster.promote().await;
            lead.lead_to(cluster.address(cluster.primary()));
        })
        .await;
        load.check().await;
    }
}

async fn a_standby_is_refused_by_name(cluster: &Standbys) {
    for migrates in [false, true] {
        let standby = PgPoolOptions::new().connect_with(cluster.options(1)).await.unwrap();
        let builder = Guard::builder(standby);
        let builder = if migrates { builder.migrate() } else { builder };
        let refused = builder.build().await.unwrap_err();
        assert!(refused.to_string().contains("connecting to the primary"), "{refused}");
        let BuildError::UnsafeSettings(settings) = refused else { panic!("{refused:?}") };
        assert_eq!(settings.iter().map(|setting| setting.name).collect::<Vec<_>>(), ["pg_is_in_recovery"]);
    }
}
