//! A server that is lost and comes back, seen through a proxy that refuses.

use std::time::Duration;

use idem_runtime::{OnLapse, Reading, RecordKey, Status};
use idem_test_support::proxy::{Fault, Proxy};
use idem_tests::{Proxied, on_every_server, policy};
use sqlx::Pool;

use crate::*;

pub(crate) struct Setup<F: Proxied> {
    fixture: F,
    pub(crate) direct: Pool<F::S>,
    proxy: Proxy,
    pub(crate) guard: Guard<F>,
    ran: AtomicU32,
}

impl<F: Proxied> Setup<F> {
    pub(crate) async fn new(connections: u32) -> Self {
        let fixture = F::create().await;
        let direct = fixture.pool(2).await;
        let proxy = fixture.proxy().await;
        let pool = fixture.pool_through(&proxy, connections, Duration::from_secs(1)).await;
        let guard =
            Guard::<F>::builder(pool).statement_timeout(Duration::from_secs(1)).build().await.unwrap();
        Self { fixture, direct, proxy, guard, ran: AtomicU32::new(0) }
    }

    /// Ends all connections and refuses new ones.
    async fn lose(&self) {
        self.proxy.arm(Fault::Refuse);
        self.proxy.fired().await;
    }

    async fn order(&self, policy: &Policy) -> Result<Outcome<i64>, Error> {
        order::<F>(&self.guard, policy, "k", &self.ran).await
    }

    /// An external run during which the database is lost.
    async fn charge_and_lose(&self, policy: &Policy) -> Result<Outcome<i64>, Error> {
        self.guard
            .run_external(policy, request::<F>(&self.guard, "k"), async |claim: &Claim<F::S>| {
                self.ran.fetch_add(1, Ordering::SeqCst);
                self.lose().await;
                Ok(Success::new(claim.attempt()))
            })
            .await
    }

    async fn charge(&self, policy: &Policy) -> Result<Outcome<i64>, Error> {
        charge::<F>(&self.guard, policy, "k", &self.ran).await
    }

    async fn effects(&self) -> i64 {
        F::effects(&self.direct, "k").await
    }

    fn ran(&self) -> u32 {
        self.ran.load(Ordering::SeqCst)
    }

    pub(crate) async fn reading(&self) -> Reading {
        let guard = Guard::<F>::builder(self.direct.clone()).build().await.unwrap();
        let key = RecordKey::new(scope(), policy().route().clone(), key("k"));
        guard.read(&key).await.unwrap().unwrap()
    }

    pub(crate) async fn drop_database(self) {
        self.fixture.drop_database().await;
    }
}

async fn a_server_that_refuses_runs_no_body_until_it_is_back<F: Proxied>() {
    for connections in [1, 4] {
        let setup = Setup::<F>::new(connections).await;
        setup.lose().await;
        assert_away::<F>(&setup.guard, &policy(), "k").await;
        setup.proxy.heal();
        assert_eq!(*setup.order(&policy()).await.unwrap().value(), 1);
        assert_eq!(setup.effects().await, 1);
        setup.drop_database().await;
    }
}

async fn a_server_lost_between_body_and_commit_leaves_nothing_half_done<F: Proxied>() {
    for connections in [1, 4] {
        let setup = Setup::<F>::new(connections).await;
        let lost: Result<Outcome<i64>, Error> = setup
            .guard
            .run(&policy(), request::<F>(&setup.guard, "k"), async |mutation: &mut Mutation<F::S>| {
                F::effect(mutation, "k").await.unwrap();
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
        F::pass(&setup.direct, Duration::from_hours(1)).await;
        assert_eq!(*setup.order(&policy()).await.unwrap().value(), 2);
        assert_eq!((setup.effects().await, setup.ran()), (1, 1));
        setup.drop_database().await;
    }
}

async fn an_outside_success_is_recorded_when_the_server_is_back_in_time<F: Proxied>() {
    for connections in [1, 4] {
        let setup = Setup::<F>::new(connections).await;
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

async fn an_outside_success_whose_server_stays_away_is_unknown<F: Proxied>() {
    for on_lapse in [OnLapse::Refuse, OnLapse::Rerun] {
        let setup = Setup::<F>::new(4).await;
        let short = Duration::from_secs(1);
        let policy = policy().on_lapse(on_lapse).lease(short / 2).max_run(short);
        let first = setup.charge_and_lose(&policy).await;
        assert!(matches!(first, Err(Error::OutcomeUnknown)), "{first:?}");
        assert_eq!(first.unwrap_err().status(), 409);
        setup.proxy.heal();
        let Reading { record, .. } = setup.reading().await;
        assert_eq!((record.status, record.outcome_unknown), (Status::Processing, false));
        F::pass(&setup.direct, Duration::from_hours(1)).await;
        let retry = setup.charge(&policy).await;
        match on_lapse {
            OnLapse::Refuse => assert!(matches!(retry, Err(Error::OutcomeUnknown)), "{retry:?}"),
            _ => assert_eq!(*retry.unwrap().value(), 2),
        }
        setup.drop_database().await;
    }
}

on_every_server! {
    a_server_that_refuses_runs_no_body_until_it_is_back,
    a_server_lost_between_body_and_commit_leaves_nothing_half_done,
    an_outside_success_is_recorded_when_the_server_is_back_in_time,
    an_outside_success_whose_server_stays_away_is_unknown,
}
