//! A server that stops: in order, where everything is seen through, or by the end of its runtime.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use idem_runtime::Status;
use idem_tests::shop::{Place, Shop};
use idem_tests::{Fixture, on_every_database};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::block_in_place;

use crate::client::{post, sending, with};
use crate::site::{CONNECTIONS, Site, lapse};
use crate::{BOOK, CHARGES, LONG, ORDERS, soon, until};

async fn an_orderly_shutdown_sees_bodies_through_whether_or_not_their_clients_are_there<F: Fixture>() {
    let mut site = Site::<F>::open().await;
    let departed = site.sending(with(post("/charges", "departed", BOOK), "x-stop", "body"));
    soon("the charge", site.stage.reached(Place::Body, 1)).await;
    departed.abort();
    soon("its client leaves", site.stage.reached(Place::Gone, 1)).await;
    let waiting = site.sending(with(post("/orders", "waiting", BOOK), "x-stop", "body"));
    soon("the order", site.stage.reached(Place::Body, 2)).await;

    site.shut();
    until("the port is closed", async || TcpStream::connect(site.address).await.is_err()).await;
    assert!(!site.guard.drain(Duration::ZERO).await, "two bodies are at work");
    assert!(!site.is_closed() && !waiting.is_finished());
    site.stage.open();
    let first = waiting.await.unwrap().expect("a client that waits gets its answer");
    assert_eq!(first.status, StatusCode::CREATED);
    soon("the server ends", site.closed()).await;
    assert!(site.guard.drain(LONG).await);

    for (route, key) in [(ORDERS.1, "waiting"), (CHARGES.1, "departed")] {
        let record = site.record(route, key).await.unwrap();
        assert_eq!((record.status, record.token.attempt), (Status::Succeeded, 1), "{route}");
    }
    let again = site.again().await;
    again.send(post("/orders", "waiting", BOOK)).await.replays(&first);
    assert!(again.send(post("/charges", "departed", BOOK)).await.is_replay());
    assert_eq!(again.count("effects").await, 2);
}

/// A shop in a runtime of its own, which is dropped while a body stands still.
async fn is_dropped_in_the_body<F: Fixture>(fixture: &F, path: &str) {
    let runtime = block_in_place(|| Runtime::new().unwrap());
    let (address, stage) = block_in_place(|| {
        runtime.block_on(async {
            let shop = Shop::<F>::new(fixture.guard(CONNECTIONS).await);
            let stage = Arc::clone(&shop.stage);
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async move { axum::serve(listener, shop.app()).await });
            (address, stage)
        })
    });
    let asked = sending(address, with(post(path, "k", BOOK), "x-stop", "body"));
    soon("the body", stage.reached(Place::Body, 1)).await;
    block_in_place(|| drop(runtime));
    let answer = soon("the connection ends", asked).await.unwrap();
    assert!(answer.is_err(), "nothing was answered: {answer:?}");
}

async fn a_runtime_that_is_dropped_leaves_its_bodies_to_their_leases<F: Fixture>() {
    for (path, route) in [ORDERS, CHARGES] {
        let fixture = F::create().await;
        is_dropped_in_the_body(&fixture, path).await;
        let guard = fixture.guard(CONNECTIONS).await;
        let site = Site::over(fixture, guard, Shop::app).await;
        let left = site.record(route, "k").await.unwrap();
        assert_eq!((left.status, left.token.attempt), (Status::Processing, 1), "{route}");
        assert!(left.locked_until.is_some() && left.answer.is_none(), "{left:?}");
        site.send(post(path, "k", BOOK)).await.is_in_progress();

        lapse::<F>(&site.guard).await;
        let retry = site.send(post(path, "k", BOOK)).await;
        assert_eq!((retry.status, retry.is_replay()), (StatusCode::CREATED, false), "{retry:?}");
        assert_eq!(retry.json()["attempt"], 2);
        assert_eq!(site.count("effects").await, 1, "{route}");
        site.send(post(path, "k", BOOK)).await.replays(&retry);
    }
}

on_every_database! {
    an_orderly_shutdown_sees_bodies_through_whether_or_not_their_clients_are_there,
    a_runtime_that_is_dropped_leaves_its_bodies_to_their_leases,
}
