//! A node that has not yet applied what another one has acknowledged.

use idem_runtime::store::{Fault, Store};
use idem_test_support::galera::Galera;
use idem_tests::OnMysql;
use sqlx::{Connection, MySql, MySqlConnection};

use super::pool;
use crate::load::Load;

const COUNT: &str = "SELECT count(*) FROM idempotency_records WHERE idempotency_key = 'stale'";

pub(crate) async fn a_node_that_lags_behind_waits_and_does_not_run_the_body_again(
    cluster: &Galera,
    load: &Load<OnMysql>,
) {
    // Under this lock the node takes in what the others commit, and applies nothing.
    let mut holder = MySqlConnection::connect_with(&cluster.options(1)).await.unwrap();
    sqlx::raw_sql("FLUSH TABLES WITH READ LOCK").execute(&mut holder).await.unwrap();
    let first = load.ask(0, "stale").await.unwrap();
    // The control: without the setting the node says that there is no such key.
    let mut plain = MySqlConnection::connect_with(&cluster.options(1)).await.unwrap();
    let seen: i64 = sqlx::query_scalar(COUNT).fetch_one(&mut plain).await.unwrap();
    assert_eq!(seen, 0, "the node is not behind");

    let (retry, ()) = futures_util::join!(load.ask(1, "stale"), async {
        // The retry is on its way, and finds the lock released at some moment of its life.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        sqlx::raw_sql("UNLOCK TABLES").execute(&mut holder).await.unwrap();
    });
    let retry = retry.unwrap();
    assert!(retry.is_replay());
    assert_eq!(retry.value(), first.value());
    assert_eq!(load.ran(), 1);

    // A node that stays behind cannot prove that it is up to date, and says so.
    cluster.execute(1, "SET GLOBAL wsrep_provider_options = 'repl.causal_read_timeout=PT0.5S'").await;
    let waiting = pool(cluster, 1);
    let _ready = waiting.acquire().await.unwrap();
    sqlx::raw_sql("FLUSH TABLES WITH READ LOCK").execute(&mut holder).await.unwrap();
    load.ask(0, "behind").await.unwrap();
    let error = sqlx::query_scalar::<_, i64>(COUNT).fetch_one(&waiting).await.unwrap_err();
    assert!(error.to_string().contains("1205"), "{error}");
    assert_eq!(MySql::classify(&error), Fault::Locked);
    load.is_refused_at(1, "behind").await;
    sqlx::raw_sql("UNLOCK TABLES").execute(&mut holder).await.unwrap();
    cluster.execute(1, "SET GLOBAL wsrep_provider_options = 'repl.causal_read_timeout=PT30S'").await;
}
