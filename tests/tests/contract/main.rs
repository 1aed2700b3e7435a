//! The contract of a store: each transition, its fence and its boundaries, the same on every database.

mod claims;
mod endings;
mod schema;
mod sweeps;

use std::time::Duration;

use idem_runtime::store::{NewClaim, Store};
use idem_runtime::{
    Answer, AnswerBody, Bindings, Defaults, FencingToken, IdempotencyKey, Mode, OnLapse, Policy, Reading,
    RecordKey, Route, Scope, Status,
};
use idem_tests::Fixture;
use sqlx::pool::PoolConnection;
use uuid::Uuid;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn record_key(tenant: &str, user: &str, route: &str, key: &str) -> RecordKey {
    RecordKey::new(
        Scope::new(tenant, user).unwrap(),
        Route::new(route).unwrap(),
        IdempotencyKey::new(key).unwrap(),
    )
}

pub(crate) fn claim_of(key: RecordKey, mode: Mode, on_lapse: OnLapse) -> NewClaim {
    let policy = Policy::new("orders.create").unwrap().on_lapse(on_lapse);
    NewClaim {
        key,
        request_hash: "v1:-:aa".to_owned(),
        request_fields: None,
        terms: policy.terms(mode, &Defaults::default()).unwrap(),
        claim_id: Uuid::new_v4(),
    }
}

pub(crate) fn claim(key: &str) -> NewClaim {
    claim_of(record_key("acme", "user-7", "orders.create", key), Mode::Transactional, OnLapse::Rerun)
}

pub(crate) fn external(key: &str, on_lapse: OnLapse) -> NewClaim {
    claim_of(record_key("acme", "user-7", "orders.create", key), Mode::External, on_lapse)
}

/// An answer with everything that is hard to keep.
pub(crate) fn answer() -> Answer {
    Answer {
        code: 201,
        headers: vec![
            ("link".to_owned(), b"<a>, <b>".to_vec()),
            ("x-latin".to_owned(), vec![0xe9, 0xff, 0x80]),
            ("link".to_owned(), b"<c>".to_vec()),
        ],
        content_type: Some("application/octet-stream".to_owned()),
        body: AnswerBody::Kept((0..=255).collect()),
    }
}

pub(crate) fn stale(token: FencingToken) -> [FencingToken; 2] {
    [FencingToken { attempt: token.attempt + 1, ..token }, FencingToken { claim_id: Uuid::new_v4(), ..token }]
}

/// A database with one connection to it.
pub(crate) struct At<F: Fixture> {
    pub(crate) fixture: F,
    pub(crate) connection: PoolConnection<F::S>,
}

impl<F: Fixture> At<F> {
    pub(crate) async fn fresh() -> Self {
        let fixture = F::create().await;
        let connection = fixture.pool(2).await.acquire().await.unwrap();
        Self { fixture, connection }
    }

    pub(crate) async fn claimed(&mut self, claim: &NewClaim) -> Reading {
        let reading = F::S::insert(&mut self.connection, claim).await.unwrap().unwrap();
        assert_eq!(reading.record.token.claim_id, claim.claim_id, "the claim is ours");
        reading
    }

    pub(crate) async fn read(&mut self, claim: &NewClaim) -> Option<Reading> {
        F::S::read(&mut self.connection, &claim.key).await.unwrap()
    }

    pub(crate) async fn pass(&self, span: Duration) {
        F::pass(&self.fixture.pool(1).await, span).await;
    }
}

/// One record of each kind; the last member says whether a sweep past its life may take it.
pub(crate) async fn one_of_each<F: Fixture>(at: &mut At<F>) -> Vec<(NewClaim, bool)> {
    let none = Bindings::default();
    let mut all = Vec::new();
    for (key, status) in [("succeeded", Status::Succeeded), ("failed", Status::Failed)] {
        let wanted = claim(key);
        let token = at.claimed(&wanted).await.record.token;
        let conn = &mut at.connection;
        match status {
            Status::Succeeded => F::S::complete(conn, &wanted.key, token, &answer(), &none).await.unwrap(),
            _ => F::S::fail(conn, &wanted.key, token, None).await.unwrap(),
        };
        all.push((wanted, true));
    }
    for (claim, swept) in [
        (claim("transactional"), true),
        (external("rerun", OnLapse::Rerun), true),
        (external("recover", OnLapse::Recover), false),
        (external("refuse", OnLapse::Refuse), false),
    ] {
        at.claimed(&claim).await;
        all.push((claim, swept));
    }
    let unknown = claim("unknown");
    let token = at.claimed(&unknown).await.record.token;
    F::S::mark_unknown(&mut at.connection, &unknown.key, token).await.unwrap();
    all.push((unknown, false));
    all
}
