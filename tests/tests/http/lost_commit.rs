//! A COMMIT that is lost on its way to PostgreSQL or back: the client is told the truth.
//!
//! Between a process and its SQLite file there is no way on which anything could be lost.

use axum::http::StatusCode;
use idem_runtime::Status;
use idem_runtime::postgres::Guard;
use idem_test_support::proxy::{Fault, Proxy};
use idem_tests::shop::Shop;
use idem_tests::{Fixture, OnPostgres};
use sqlx::postgres::PgPoolOptions;

use crate::client::{Answer, post};
use crate::site::Site;
use crate::{BOOK, ORDERS};

/// A shop that reaches its database through a proxy, at which the commit of the first order meets `fault`.
async fn meets(fault: Fault) -> (Site<OnPostgres>, Answer, Proxy) {
    let fixture = OnPostgres::create().await;
    let proxy = Proxy::start(fixture.0.address().await);
    let through = fixture.0.options_through(proxy.addr());
    let pool = PgPoolOptions::new().max_connections(2).connect_with(through).await.unwrap();
    let guard = Guard::builder(pool).build().await.unwrap();
    let site = Site::over(fixture, guard, Shop::app).await;
    proxy.arm(fault);
    let first = site.send(post(ORDERS.0, "k", BOOK)).await;
    proxy.fired().await;
    (site, first, proxy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_reply_is_lost_is_answered_as_the_success_that_it_is() {
    let (site, first, _proxy) = meets(Fault::CutAfterCommit).await;
    assert_eq!((first.status, first.is_replay()), (StatusCode::CREATED, false), "{first:?}");
    assert_eq!(site.effects("book").await, 1);
    site.send(post(ORDERS.0, "k", BOOK)).await.replays(&first);
    assert_eq!(site.effects("book").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_never_arrives_is_a_503_after_which_the_retry_runs() {
    let (site, first, _proxy) = meets(Fault::CutBeforeCommit).await;
    assert_eq!((first.status.as_u16(), first.code().as_str()), (503, "IDEMPOTENCY_STORE_UNAVAILABLE"));
    assert!(first.retry_after().is_some(), "{first:?}");
    assert_eq!(site.effects("book").await, 0);
    let left = site.record(ORDERS.1, "k").await.unwrap();
    assert!(left.status == Status::Failed && left.released_at.is_some(), "{left:?}");

    let retry = site.send(post(ORDERS.0, "k", BOOK)).await;
    assert_eq!((retry.status, retry.is_replay()), (StatusCode::CREATED, false), "{retry:?}");
    assert_eq!(retry.json()["attempt"], 2);
    assert_eq!(site.effects("book").await, 1);
    site.send(post(ORDERS.0, "k", BOOK)).await.replays(&retry);
}
