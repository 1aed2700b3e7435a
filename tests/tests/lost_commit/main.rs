//! A reply that is lost on its way from the server changes nothing about what the caller is told.
#![cfg(any(feature = "mysql", feature = "postgres"))]

mod commits;
mod statements;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::{
    Claim, Error, IdempotencyMutationGuard, Mutation, Outcome, Policy, Record, RecordKey, Request, Status,
    Success,
};
use idem_test_support::proxy::Proxy;
use idem_tests::{Proxied, key, policy, scope};
use sqlx::Pool;

pub(crate) type Guard<F> = IdempotencyMutationGuard<<F as idem_tests::Fixture>::S>;

/// A guard that reaches its database through a proxy, and a pool that does not.
pub(crate) struct Setup<F: Proxied> {
    pub(crate) fixture: F,
    pub(crate) direct: Pool<F::S>,
    pub(crate) proxy: Proxy,
    pub(crate) guard: Guard<F>,
    pub(crate) ran: AtomicU32,
}

/// A pool of one must go on with a new connection; one of several also meets the old connection's locks.
pub(crate) const POOLS: [u32; 2] = [1, 4];

pub(crate) const PATIENT: Duration = Duration::from_secs(10);

impl<F: Proxied> Setup<F> {
    pub(crate) async fn new(connections: u32, statement_timeout: Duration) -> Self {
        let fixture = F::create().await;
        let direct = fixture.pool(2).await;
        let proxy = fixture.proxy().await;
        let pool = fixture.pool_through(&proxy, connections, PATIENT * 3).await;
        let guard = Guard::<F>::builder(pool).statement_timeout(statement_timeout).build().await.unwrap();
        Self { fixture, direct, proxy, guard, ran: AtomicU32::new(0) }
    }

    pub(crate) fn request(&self) -> Request {
        self.guard.request(scope(), key("k")).of("book").unwrap()
    }

    /// A body that writes one row and gives its attempt.
    pub(crate) async fn order(&self, policy: &Policy) -> Result<Outcome<i64>, Error> {
        self.guard
            .run(policy, self.request(), async |mutation: &mut Mutation<F::S>| {
                self.ran.fetch_add(1, Ordering::SeqCst);
                F::effect(mutation, "k").await.unwrap();
                Ok(Success::new(mutation.attempt()))
            })
            .await
    }

    pub(crate) async fn charge(&self) -> Result<Outcome<i64>, Error> {
        self.guard
            .run_external(&policy(), self.request(), async |claim: &Claim<F::S>| {
                self.ran.fetch_add(1, Ordering::SeqCst);
                Ok(Success::new(claim.attempt()))
            })
            .await
    }

    pub(crate) async fn effects(&self) -> i64 {
        F::effects(&self.direct, "k").await
    }

    pub(crate) fn ran(&self) -> u32 {
        self.ran.load(Ordering::SeqCst)
    }

    /// The record as a guard sees it that no fault is in front of.
    pub(crate) async fn record(&self) -> Record {
        let guard = Guard::<F>::builder(self.direct.clone()).build().await.unwrap();
        let key = RecordKey::new(scope(), policy().route().clone(), key("k"));
        guard.read(&key).await.unwrap().unwrap().record
    }

    pub(crate) async fn assert_released(&self) {
        let record = self.record().await;
        assert_eq!((record.status, record.answer), (Status::Failed, None));
        assert!(record.released_at.is_some());
    }

    pub(crate) async fn drop_database(self) {
        self.fixture.drop_database().await;
    }
}

pub(crate) fn assert_unavailable(refused: &Result<Outcome<i64>, Error>) {
    let Err(error @ Error::StoreUnavailable(_)) = refused else { panic!("{refused:?}") };
    assert_eq!((error.status(), error.is_retryable()), (503, true));
}
