//! The cluster itself: three nodes that know each other, each of which can be lost and come back.
#![cfg(feature = "mysql")]

use idem_test_support::galera::Galera;

#[tokio::test]
async fn three_nodes_know_each_other_and_one_that_was_killed_comes_back() {
    let mut cluster = Galera::start().await;
    assert_eq!(cluster.status(0, "wsrep_cluster_size").await.as_deref(), Some("3"));
    cluster.kill(2).await;
    cluster.has_size(0, 2).await;
    cluster.start_node(2).await;
    cluster.has_size(0, 3).await;
}
