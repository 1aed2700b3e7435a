//! A PostgreSQL server that is lost and comes back, seen through a proxy that refuses.

use std::time::Duration;

use idem_runtime::postgres::{Claim, Guard, Mutation};
use idem_runtime::{OnLapse, Reading, RecordKey, Status};
use idem_test_support::proxy::{Fault, Proxy};
use idem_tests::{OnPostgres, policy};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::*;

struct Setup {
    fixture: OnPostgres,
    direct: PgPool,
    proxy: Proxy,
    guard: Guard,
    ran: AtomicU32,
}

impl Setup {
    async fn new(connections: u32) -> Self {
        let fixture = OnPostgres::create().await;
        let direct = fixture.pool(2).await;
        let proxy = Proxy::start(fixture.0.address().await);
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(1))
            .connect_with(fixture.0.options_through(proxy.addr()))
            .await
            .unwrap();
        let guard = Guard::builder(pool).statement_timeout(Duration::from_secs(1)).build().await.unwrap();
        Self { fixture, direct, proxy, guard, ran: AtomicU32::new(0) }
    }

    /// Ends all connections and refuses new ones.
    async fn lose(&self) {
        self.proxy.arm(Fault::Refuse);
        self.proxy.fired().await;
    }

    async fn order(&self, policy: &Policy) -> Result<Outcome<i64>, Error> {
        order::<OnPostgres>(&self.guard, policy, "k", &self.ran).await
    }

    /// An external run during which the database is lost.
    async fn charge_and_lose(&self, policy: &Policy) -> Result<Outcome<i64>, Error> {
        self.guard
            .run_external(policy, request::<OnPostgres>(&self.guard, "k"), async |claim: &Claim| {
                self.ran.fetch_add(1, Ordering::SeqCst);
                self.lose().await;
                Ok(Success::new(claim.attempt()))
            })
            .await
    }

    async fn charge(&self, policy: &Policy) -> Result<Outcome<i64>, Error> {
        charge::<OnPostgres>(&self.guard, policy, "k", &self.ran).await
    }

    async fn effects(&self) -> i64 {
        OnPostgres::effects(&self.direct, "k").await
    }

    fn ran(&self) -> u32 {
        self.ran.load(Ordering::SeqCst)
    }

    async fn reading(&self) -> Reading {
        let guard = Guard::builder(self.direct.clone()).build().await.unwrap();
        let key = RecordKey::new(scope(), policy().route().clone(), key("k"));
        guard.read(&key).await.unwrap().unwrap()
    }

    async fn drop_database(self) {
        self.fixture.0.drop_database().await;
    }
}

#[tokio::test]
async fn a_server_that_refuses_runs_no_body_until_it_is_back() {
    for connections in [1, 4] {
        let setup = Setup::new(connections).await;
        setup.lose().await;
        assert_away::<OnPostgres>(&setup.guard, &policy(), "k").await;
        setup.proxy.heal();
        assert_eq!(*setup.order(&policy()).await.unwrap().value(), 1);
        assert_eq!(setup.effects().await, 1);
        setup.drop_database().await;
    }
}

#[tokio::test]
async fn a_server_lost_between_body_and_commit_leaves_nothing_half_done() {
    for connections in [1, 4] {
        let setup = Setup::new(connections).await;
        let lost: Result<Outcome<i64>, Error> = setup
            .guard
            .run(&policy(), request::<OnPostgres>(&setup.guard, "k"), async |mutation: &mut Mutation| {
                OnPostgres::effect(mutation, "k").await.unwrap();
                setup.lose().await;
                Ok(Success::new(mutation.attempt()))
            })
            .await;
        let Err(error @ Error::StoreUnavailable(Some(_))) = &lost else { panic!("{lost:?}") };
        assert!(error.is_retryable());
        assert_eq!(setup.effects().await, 0);
        let record = setup.reading().await.record;
        assert_eq!((record.status, record.token.attempt), (Status::Processing, 1), "its lease has to lapse");

        setup.proxy.heal();
        assert!(matches!(setup.order(&policy()).await, Err(Error::InProgress { .. })));
        OnPostgres::pass(&setup.direct, Duration::from_hours(1)).await;
        assert_eq!(*setup.order(&policy()).await.unwrap().value(), 2);
        assert_eq!((setup.effects().await, setup.ran()), (1, 1));
        setup.drop_database().await;
    }
}

#[tokio::test]
async fn an_outside_success_is_recorded_when_the_server_is_back_in_time() {
    for connections in [1, 4] {
        let setup = Setup::new(connections).await;
        // The lease ends during the outage; nobody else came, so the claim is still ours.
        let policy = policy().lease(Duration::from_millis(100)).max_run(Duration::from_mins(5));
        let (first, ()) = futures_util::join!(setup.charge_and_lose(&policy), async {
            setup.proxy.fired().await;
            // How long the server is away; the result is the same however long it is.
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            setup.proxy.heal();
        });
        assert_eq!(*first.unwrap().value(), 1);
        assert_eq!(setup.reading().await.record.status, Status::Succeeded);
        assert!(setup.charge(&policy).await.unwrap().is_replay());
        assert_eq!(setup.ran(), 1);
        setup.drop_database().await;
    }
}

#[tokio::test]
async fn an_outside_success_whose_server_stays_away_is_unknown() {
    for on_lapse in [OnLapse::Refuse, OnLapse::Rerun] {
        let setup = Setup::new(4).await;
        let short = Duration::from_secs(1);
        let policy = policy().on_lapse(on_lapse).lease(short / 2).max_run(short);
        let first = setup.charge_and_lose(&policy).await;
        assert!(matches!(first, Err(Error::OutcomeUnknown)), "{first:?}");
        assert_eq!(first.unwrap_err().status(), 409);
        setup.proxy.heal();
        let Reading { record, .. } = setup.reading().await;
        assert_eq!((record.status, record.outcome_unknown), (Status::Processing, false));
        OnPostgres::pass(&setup.direct, Duration::from_hours(1)).await;
        let retry = setup.charge(&policy).await;
        match on_lapse {
            OnLapse::Refuse => assert!(matches!(retry, Err(Error::OutcomeUnknown)), "{retry:?}"),
            _ => assert_eq!(*retry.unwrap().value(), 2),
        }
        setup.drop_database().await;
    }
}

#[tokio::test]
async fn an_outside_success_is_recorded_when_a_full_or_read_only_server_recovers_in_time() {
    // Disk full; out of memory; read-only, as after a fail-over.
    for code in ["53100", "53200", "25006"] {
        let setup = Setup::new(4).await;
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
