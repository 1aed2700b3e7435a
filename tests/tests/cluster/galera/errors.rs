//! Errors that only a cluster gives.

use idem_runtime::mysql::Mutation;
use idem_runtime::store::{Fault, Store};
use idem_runtime::{Error, Success};
use idem_test_support::galera::Galera;
use idem_tests::{Fixture, OnMysql, key, scope};
use sqlx::{Connection, MySql, MySqlConnection};

use crate::load::{Load, short};

const TAKE_ONE: &str = "UPDATE stock SET pieces = pieces - 1 WHERE id = 1";

pub(crate) async fn each_error_of_a_cluster_is_what_the_table_says(cluster: &Galera, load: &Load<OnMysql>) {
    let mut one = MySqlConnection::connect_with(&cluster.options(0)).await.unwrap();
    let mut other = MySqlConnection::connect_with(&cluster.options(1)).await.unwrap();
    for connection in [&mut one, &mut other] {
        for statement in ["BEGIN", "INSERT INTO stock VALUES (2, 0)"] {
            OnMysql::execute(connection, statement).await.expect("both have it, until they commit");
        }
    }
    OnMysql::execute(&mut one, "COMMIT").await.unwrap();
    // Has applied the first commit, and so ended the second transaction.
    load.ask(1, "applied").await.unwrap();
    let lost = OnMysql::execute(&mut other, "COMMIT").await.unwrap_err();
    assert!(lost.to_string().contains("1213"), "{lost}");
    assert_eq!(MySql::classify(&lost), Fault::Again);
}

pub(crate) async fn a_commit_that_lost_its_certification_has_kept_nothing(load: &Load<OnMysql>) {
    let guard = &load.guards[1];
    let mut runs = 0;
    let mut order = async || {
        let request = guard.request(scope(), key("certified")).of("book").unwrap();
        let first = runs == 0;
        runs += 1;
        guard
            .run(&short(), request, async |mutation: &mut Mutation| {
                OnMysql::effect(mutation, "certified").await.unwrap();
                OnMysql::execute(mutation, TAKE_ONE).await.unwrap();
                if first {
                    // Another node is quicker with the same row, and this one gets to know.
                    let quicker = &mut load.guards[0].pool().acquire().await.unwrap();
                    OnMysql::execute(quicker, TAKE_ONE).await.unwrap();
                    OnMysql::effects(guard.pool(), "certified").await;
                }
                Ok::<_, Error>(Success::new(mutation.attempt()))
            })
            .await
    };
    let lost = order().await.unwrap_err();
    assert!(matches!(lost, Error::StoreUnavailable(Some(_))), "{lost:?}");
    assert_eq!(OnMysql::effects(guard.pool(), "certified").await, 0);
    // Given back at once: nobody waits for its lease.
    assert_eq!(*order().await.unwrap().value(), 2);
    for guard in &load.guards {
        assert_eq!(OnMysql::effects(guard.pool(), "certified").await, 1);
        let pieces: i64 = sqlx::query_scalar("SELECT pieces FROM stock WHERE id = 1")
            .fetch_one(guard.pool())
            .await
            .unwrap();
        assert_eq!(pieces, 98);
    }
}
