//! A COMMIT that is lost on its way to the server or back: the client is told the truth.
//!
//! Between a process and its SQLite file there is no way on which anything could be lost.

use axum::http::StatusCode;
use idem_runtime::Status;
use idem_test_support::proxy::{Fault, Proxy};
use idem_tests::shop::Shop;
use idem_tests::{Proxied, on_every_server};

use crate::client::{Answer, post};
use crate::site::Site;
use crate::{BOOK, Guard, LONG, ORDERS};

/// A shop that reaches its database through a proxy, at which the commit of the first order meets `fault`.
async fn meets<F: Proxied>(fault: Fault) -> (Site<F>, Answer, Proxy) {
    let fixture = F::create().await;
    let proxy = fixture.proxy().await;
    let pool = fixture.pool_through(&proxy, 2, LONG).await;
    let guard = Guard::<F>::builder(pool).build().await.unwrap();
    let site = Site::over(fixture, guard, Shop::app).await;
    proxy.arm(fault);
    let first = site.send(post(ORDERS.0, "k", BOOK)).await;
    proxy.fired().await;
    (site, first, proxy)
}

async fn a_commit_whose_reply_is_lost_is_answered_as_the_success_that_it_is<F: Proxied>() {
    let (site, first, _proxy) = meets::<F>(Fault::CutAfterCommit).await;
    assert_eq!((first.status, first.is_replay()), (StatusCode::CREATED, false), "{first:?}");
    assert_eq!(site.effects("book").await, 1);
    site.send(post(ORDERS.0, "k", BOOK)).await.replays(&first);
    assert_eq!(site.effects("book").await, 1);
}

async fn a_commit_that_never_arrives_is_a_503_after_which_the_retry_runs<F: Proxied>() {
    let (site, first, _proxy) = meets::<F>(Fault::CutBeforeCommit).await;
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

on_every_server! {
    a_commit_whose_reply_is_lost_is_answered_as_the_success_that_it_is,
    a_commit_that_never_arrives_is_a_503_after_which_the_retry_runs,
}
