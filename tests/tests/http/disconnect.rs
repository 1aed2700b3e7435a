//! A client that leaves changes nothing: what has begun ends by itself, and the retry gets its answer.

use axum::body::Bytes;
use axum::http::{Method, StatusCode};
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use idem_runtime::Status;
use idem_tests::shop::{Place, Shop};
use idem_tests::{Fixture, on_every_database};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Http2, keyed, post, with};
use crate::site::Site;
use crate::{BOOK, CHARGES, LONG, ORDERS, USER, soon, until};

/// How a client leaves.
#[derive(Debug, Clone, Copy)]
enum Leaves {
    /// HTTP/1: closes its socket.
    Closes,
    /// HTTP/1: will send nothing more, and goes on reading.
    HalfCloses,
    /// HTTP/2: resets the stream; its connection stays.
    Resets,
    /// HTTP/2: the connection breaks.
    Breaks,
}

/// The bytes of a request over HTTP/1, which may be less than it announces.
fn raw(path: &str, stop: Place, sent: &str) -> String {
    let (stop, length) = (stop.name(), BOOK.len());
    format!(
        "POST {path} HTTP/1.1\r\nhost: shop\r\nx-user: {USER}\r\nidempotency-key: k\r\nx-stop: {stop}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{sent}",
    )
}

/// Sends a request that stands still at `place`, and leaves when it has come there.
async fn leaves<F: Fixture>(site: &Site<F>, path: &str, place: Place, how: Leaves) {
    let at_place = site.stage.reached(place, 1);
    match how {
        Leaves::Closes | Leaves::HalfCloses => {
            let mut socket = TcpStream::connect(site.address).await.unwrap();
            socket.write_all(raw(path, place, BOOK).as_bytes()).await.unwrap();
            at_place.await;
            if matches!(how, Leaves::HalfCloses) {
                socket.shutdown().await.unwrap();
                let mut rest = Vec::new();
                // Either end of the connection is fine; an answer is not, as nothing has happened yet.
                let _ = socket.read_to_end(&mut rest).await;
                assert_eq!(String::from_utf8_lossy(&rest), "");
            }
        }
        Leaves::Resets | Leaves::Breaks => {
            let call = with(post(path, "k", BOOK), "x-stop", place.name());
            let mut connection = Http2::connect(site.address).await;
            let answer = connection.sender.send_request(with_authority(call));
            tokio::select! {
                answer = answer => panic!("the request stands still: {answer:?}"),
                () = at_place => {}
            }
            if matches!(how, Leaves::Resets) {
                site.stage.reached(Place::Gone, 1).await;
                assert!(!connection.sender.is_closed(), "only the stream has ended");
            }
        }
    }
    site.stage.reached(Place::Gone, 1).await;
}

/// HTTP/2 has no `Host`, but a whole URI.
fn with_authority<B>(mut call: axum::http::Request<B>) -> axum::http::Request<B> {
    *call.uri_mut() = format!("http://shop{}", call.uri()).parse().unwrap();
    call
}

async fn leaves_a_whole_operation<F: Fixture>((path, route): (&str, &str), place: Place, how: Leaves) {
    let site = Site::<F>::open().await;
    soon("the client leaves", leaves(&site, path, place, how)).await;
    site.send(post(path, "k", BOOK)).await.is_in_progress();
    site.stage.open();
    until("the operation ends", async || {
        site.record(route, "k").await.is_some_and(|record| record.status != Status::Processing)
    })
    .await;

    let record = site.record(route, "k").await.unwrap();
    assert_eq!((record.status, record.token.attempt), (Status::Succeeded, 1), "{how:?}");
    let retry = site.send(post(path, "k", BOOK)).await;
    assert!(retry.is_replay(), "{how:?}: {retry:?}");
    assert_eq!(retry.status, StatusCode::CREATED);
    assert_eq!(retry.json()["attempt"], 1);
    assert_eq!(site.count("effects").await, 1, "{how:?}");
}

async fn a_client_that_closes_its_socket_leaves_a_whole_operation<F: Fixture>() {
    leaves_a_whole_operation::<F>(ORDERS, Place::Body, Leaves::Closes).await;
    leaves_a_whole_operation::<F>(CHARGES, Place::Body, Leaves::Closes).await;
}

async fn a_client_that_closes_half_of_its_socket_leaves_a_whole_operation<F: Fixture>() {
    leaves_a_whole_operation::<F>(ORDERS, Place::Body, Leaves::HalfCloses).await;
    leaves_a_whole_operation::<F>(CHARGES, Place::Body, Leaves::HalfCloses).await;
}

async fn a_client_that_resets_its_stream_leaves_a_whole_operation<F: Fixture>() {
    leaves_a_whole_operation::<F>(ORDERS, Place::Body, Leaves::Resets).await;
    leaves_a_whole_operation::<F>(CHARGES, Place::Body, Leaves::Resets).await;
}

async fn a_client_whose_connection_breaks_leaves_a_whole_operation<F: Fixture>() {
    leaves_a_whole_operation::<F>(ORDERS, Place::Body, Leaves::Breaks).await;
    leaves_a_whole_operation::<F>(CHARGES, Place::Body, Leaves::Breaks).await;
}

async fn a_client_that_leaves_while_its_answer_is_recorded_leaves_a_whole_operation<F: Fixture>() {
    for how in [Leaves::Closes, Leaves::Resets] {
        leaves_a_whole_operation::<F>(ORDERS, Place::Recording, how).await;
        leaves_a_whole_operation::<F>(CHARGES, Place::Recording, how).await;
    }
}

/// Sends half of a body and leaves.
async fn sends_half<F: Fixture>(site: &Site<F>, how: Leaves) {
    match how {
        Leaves::Closes | Leaves::HalfCloses => {
            let mut socket = TcpStream::connect(site.address).await.unwrap();
            socket.write_all(raw("/orders", Place::Body, &BOOK[..5]).as_bytes()).await.unwrap();
            site.stage.reached(Place::Arrived, 1).await;
            if matches!(how, Leaves::HalfCloses) {
                socket.shutdown().await.unwrap();
                let _ = socket.read_to_end(&mut Vec::new()).await;
            }
        }
        Leaves::Resets | Leaves::Breaks => {
            let half = Frame::data(Bytes::from_static(&BOOK.as_bytes()[..5]));
            let never_whole = stream::unfold(Some(half), |left| async {
                match left {
                    Some(frame) => Some((Ok::<_, std::io::Error>(frame), None)),
                    None => std::future::pending().await,
                }
            });
            let call = keyed(Method::POST, "/orders", "k").header("content-type", "application/json");
            let call = call.body(StreamBody::new(Box::pin(never_whole))).unwrap();
            let mut connection = Http2::connect(site.address).await;
            let answer = connection.sender.send_request(with_authority(call));
            tokio::select! {
                answer = answer => panic!("the request is not whole: {answer:?}"),
                () = site.stage.reached(Place::Arrived, 1) => {}
            }
            if matches!(how, Leaves::Resets) {
                // The dropped future resets the stream, and the connection is not to break before that.
                ends(site).await;
            }
        }
    }
    ends(site).await;
}

/// The request of a departed client ends as an error of its body, or by being dropped.
async fn ends<F: Fixture>(site: &Site<F>) {
    tokio::select! {
        () = site.stage.reached(Place::Gone, 1) => {}
        () = site.stage.reached(Place::Answered, 1) => {}
    }
}

async fn a_client_that_leaves_while_it_sends_its_request_leaves_no_record<F: Fixture>() {
    for how in [Leaves::Closes, Leaves::HalfCloses, Leaves::Resets, Leaves::Breaks] {
        let site = Site::<F>::open().await;
        site.stage.open();
        soon("the client leaves", sends_half(&site, how)).await;
        assert!(site.guard.drain(LONG).await);
        assert_eq!(site.record("orders.create", "k").await, None, "{how:?}");

        let whole = site.send(post("/orders", "k", BOOK)).await;
        assert_eq!((whole.status, whole.is_replay()), (StatusCode::CREATED, false), "{how:?}: {whole:?}");
        assert_eq!((site.effects("book").await, site.count("idempotency_records").await), (1, 1), "{how:?}");
    }
}

async fn a_client_that_leaves_before_there_is_a_place_for_its_request_leaves_no_record<F: Fixture>() {
    let site = Site::<F>::built(|builder| builder.max_detached(1), Shop::app).await;
    let first = site.sending(with(post("/charges", "first", BOOK), "x-stop", "body"));
    soon("the only place is taken", site.stage.reached(Place::Body, 1)).await;
    let queued = site.sending(post("/charges", "k", BOOK));
    soon("the second arrives", site.stage.reached(Place::Arrived, 2)).await;
    queued.abort();
    soon("it leaves", site.stage.reached(Place::Gone, 1)).await;
    site.stage.open();
    assert_eq!(first.await.unwrap().unwrap().status, StatusCode::CREATED);
    assert!(site.guard.drain(LONG).await);
    assert_eq!(site.record("payments.charge", "k").await, None);
    assert!(!site.send(post("/charges", "k", BOOK)).await.is_replay());
}

on_every_database! {
    a_client_that_leaves_before_there_is_a_place_for_its_request_leaves_no_record,
    a_client_that_closes_its_socket_leaves_a_whole_operation,
    a_client_that_closes_half_of_its_socket_leaves_a_whole_operation,
    a_client_that_resets_its_stream_leaves_a_whole_operation,
    a_client_whose_connection_breaks_leaves_a_whole_operation,
    a_client_that_leaves_while_its_answer_is_recorded_leaves_a_whole_operation,
    a_client_that_leaves_while_it_sends_its_request_leaves_no_record,
}
