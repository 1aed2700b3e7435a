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

/// What the refusal of the setting is for, and that the suite above could fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_no_standby_has_is_lost_by_a_fail_over() {
    let mut cluster = Standbys::start().await;
    let options = cluster.options(0);
    let pool = PgPoolOptions::new().connect_with(options.clone()).await.unwrap();
    Postgres::migrate(&pool).await.unwrap();
    sqlx::raw_sql("CREATE TABLE effects (name text NOT NULL)").execute(&pool).await.unwrap();
    let safe = Guard::builder(pool).build().await.unwrap();
    let options = options.options([("synchronous_commit", "local")]);
    let pool = PgPoolOptions::new().connect_with(options).await.unwrap();
    assert!(matches!(Guard::builder(pool.clone()).build().await, Err(BuildError::UnsafeSettings(_))));
    let hasty = Guard::builder(pool).allow_unsafe_settings().build().await.unwrap();
    let load = Load::<OnPostgres>::on(vec![safe, hasty]);
    let kept = load.ask(0, "kept").await.unwrap();
    cluster.stop_sending().await;
    let lost = load.ask(1, "lost").await.unwrap();

    cluster.kill_primary().await;
    cluster.promote().await;

    let pool = PgPoolOptions::new().connect_with(cluster.options(cluster.primary())).await.unwrap();
    let load = Load::<OnPostgres>::on(vec![Guard::builder(pool).build().await.unwrap()]);
    assert_eq!(load.ask(0, "kept").await.unwrap().value(), kept.value());
    let ran_again = load.ask(0, "lost").await.unwrap();
    assert!(!ran_again.is_replay());
    assert_ne!(ran_again.value(), lost.value());
}
