//! What is refused at start.

use idem_runtime::BuildError;
use idem_runtime::mysql::Guard;
use idem_test_support::galera::Galera;
use sqlx::mysql::MySqlPoolOptions;

use super::pool;

const FLUSH: &str = "innodb_flush_log_at_trx_commit";

fn named(refused: BuildError) -> Vec<&'static str> {
    let BuildError::UnsafeSettings(settings) = refused else { panic!("{refused:?}") };
    settings.iter().map(|setting| setting.name).collect()
}

pub(crate) async fn a_node_is_refused_whose_settings_break_a_promise(cluster: &Galera) {
    let as_it_is = MySqlPoolOptions::new().connect_with(cluster.options(0)).await.unwrap();
    let refused = Guard::builder(as_it_is).build().await.unwrap_err();
    assert!(refused.to_string().contains("`wsrep_sync_wait = 7` under [mysqld]"), "{refused}");
    assert_eq!(named(refused), ["wsrep_sync_wait"]);
    Guard::builder(pool(cluster, 0)).build().await.unwrap();

    for (level, accepted) in [(2, true), (0, false)] {
        cluster.execute(0, &format!("SET GLOBAL {FLUSH} = {level}")).await;
        let refused = Guard::builder(pool(cluster, 0)).build().await.unwrap_err();
        assert_eq!(named(refused), [FLUSH]);
        let vouched = Guard::builder(pool(cluster, 0)).accept_setting(FLUSH).build().await;
        assert_eq!(vouched.is_ok(), accepted, "{level}");
    }
    cluster.execute(0, &format!("SET GLOBAL {FLUSH} = 1")).await;
}
