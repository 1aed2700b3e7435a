//! A PostgreSQL server that refuses every write for a while.

use std::time::Duration;

use idem_runtime::Status;
use idem_runtime::postgres::Claim;
use idem_tests::{Fixture, OnPostgres, policy};

use crate::behind_proxy::Setup;
use crate::*;

#[tokio::test]
async fn an_outside_success_is_recorded_when_a_full_or_read_only_server_recovers_in_time() {
    // Disk full; out of memory; read-only, as after a fail-over.
    for code in ["53100", "53200", "25006"] {
        let setup = Setup::<OnPostgres>::new(4).await;
        let policy = policy().max_run(Duration::from_mins(5));
        let refuse = format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN PERFORM nextval('refused'); RAISE 'away' USING ERRCODE = '{code}'; END $$"
        );
        let mut direct = setup.direct.acquire().await.unwrap();
        OnPostgres::execute(&mut direct, "CREATE SEQUENCE refused").await.unwrap();
        OnPostgres::execute(&mut direct, &refuse).await.unwrap();
        let trigger = "CREATE TRIGGER refuse BEFORE UPDATE ON idempotency_records \
                       EXECUTE FUNCTION refuse()";
        let body = async |claim: &Claim| {
            OnPostgres::execute(&mut *setup.direct.acquire().await.unwrap(), trigger).await.unwrap();
            Ok::<_, Error>(Success::new(claim.attempt()))
        };
        let request = request::<OnPostgres>(&setup.guard, "k");
        let (first, ()) = futures_util::join!(setup.guard.run_external(&policy, request, body), async {
            // A sequence keeps its count although the statement that raised it was refused.
            let refused = "SELECT last_value FROM refused WHERE is_called";
            while OnPostgres::number(&mut direct, refused).await.is_err() {
                tokio::task::yield_now().await;
            }
            OnPostgres::execute(&mut direct, "DROP TRIGGER refuse ON idempotency_records").await.unwrap();
        });
        assert_eq!(*first.unwrap_or_else(|error| panic!("{code}: {error:?}")).value(), 1);
        assert_eq!(setup.reading().await.record.status, Status::Succeeded);
        drop(direct);
        setup.drop_database().await;
    }
}
