//! A reply that is lost on its way from PostgreSQL changes nothing about what the caller is told.
#![cfg(feature = "postgres")]

mod commits;
mod statements;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::postgres::{Claim, Guard, Mutation};
use idem_runtime::{Error, Outcome, Policy, Record, RecordKey, Request, Status, Success};
use idem_test_support::proxy::Proxy;
use idem_tests::{Fixture, OnPostgres, key, policy, scope};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

/// A guard that reaches its database through a proxy, and a pool that does not.
pub(crate) struct Setup {
    pub(crate) fixture: OnPostgres,
    pub(crate) direct: PgPool,
    pub(crate) proxy: Proxy,
    pub(crate) guard: Guard,
    pub(crate) ran: AtomicU32,
}

/// A pool of one must go on with a new connection; one of several also meets the old connection's locks.
pub(crate) const POOLS: [u32; 2] = [1, 4];

pub(crate) const PATIENT: Duration = Duration::from_secs(10);

impl Setup {
    pub(crate) async fn new(connections: u32, statement_timeout: Duration) -> Self {
        let fixture = OnPostgres::create().await;
        let direct = fixture.pool(2).await;
        let proxy = Proxy::start(fixture.0.address().await);
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .connect_with(fixture.0.options_through(proxy.addr()))
            .await
            .unwrap();
        let guard = Guard::builder(pool).statement_timeout(statement_timeout).build().await.unwrap();
        Self { fixture, direct, proxy, guard, ran: AtomicU32::new(0) }
    }

    pub(crate) fn request(&self) -> Request {
        self.guard.request(scope(), key("k")).of("book").unwrap()
    }

    /// A body that writes one row and gives its attempt.
    pub(crate) async fn order(&self, policy: &Policy) -> Result<Outcome<i64>, Error> {
        self.guard
            .run(policy, self.request(), async |mutation: &mut Mutation| {
                self.ran.fetch_add(1, Ordering::SeqCst);
                OnPostgres::effect(mutation, "k").await.unwrap();
                Ok(Success::new(mutation.attempt()))
            })
            .await
    }

    pub(crate) async fn charge(&self) -> Result<Outcome<i64>, Error> {
        self.guard
            .run_external(&policy(), self.request(), async |claim: &Claim| {
                self.ran.fetch_add(1, Ordering::SeqCst);
                Ok(Success::new(claim.attempt()))
            })
            .await
    }

    pub(crate) async fn effects(&self) -> i64 {
        OnPostgres::effects(&self.direct, "k").await
    }

    pub(crate) fn ran(&self) -> u32 {
        self.ran.load(Ordering::SeqCst)
    }

    /// The record as a guard sees it that no fault is in front of.
    pub(crate) async fn record(&self) -> Record {
        let guard = Guard::builder(self.direct.clone()).build().await.unwrap();
        let key = RecordKey::new(scope(), policy().route().clone(), key("k"));
        guard.read(&key).await.unwrap().unwrap().record
    }

    pub(crate) async fn assert_released(&self) {
        let record = self.record().await;
        assert_eq!((record.status, record.answer), (Status::Failed, None));
        assert!(record.released_at.is_some());
    }

    pub(crate) async fn drop_database(self) {
        self.fixture.0.drop_database().await;
    }
}

pub(crate) fn assert_unavailable(refused: &Result<Outcome<i64>, Error>) {
    let Err(error @ Error::StoreUnavailable(_)) = refused else { panic!("{refused:?}") };
    assert_eq!((error.status(), error.is_retryable()), (503, true));
}
