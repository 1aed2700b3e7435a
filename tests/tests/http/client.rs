//! A client that opens a connection for each request and can break it off.

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode, request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::USER;

pub(crate) type Call = Request<Full<Bytes>>;

/// A request of `USER` with a key.
pub(crate) fn keyed(method: Method, path: &str, key: &str) -> request::Builder {
    Request::builder().method(method).uri(path).header("x-user", USER).header("idempotency-key", key)
}

/// A POST of JSON.
pub(crate) fn post(path: &str, key: &str, json: &str) -> Call {
    keyed(Method::POST, path, key)
        .header("content-type", "application/json")
        .body(body(json.to_owned()))
        .unwrap()
}

pub(crate) fn body(content: impl Into<Bytes>) -> Full<Bytes> {
    Full::new(content.into())
}

/// A request with one more header.
pub(crate) fn with(mut call: Call, name: &'static str, value: &str) -> Call {
    call.headers_mut().append(HeaderName::from_static(name), value.parse().unwrap());
    call
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    async fn read(response: Response<Incoming>) -> hyper::Result<Self> {
        let (parts, body) = response.into_parts();
        Ok(Self { status: parts.status, headers: parts.headers, body: body.collect().await?.to_bytes() })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.get(name).map(axum::http::HeaderValue::as_bytes)
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.header("idempotent-replayed") == Some(b"true")
    }

    /// The number in `Retry-After`.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.headers.get("retry-after").map(|value| value.to_str().unwrap().parse().unwrap())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The `code` of a problem; empty for any other answer.
    pub(crate) fn code(&self) -> String {
        if self.header("content-type") != Some(b"application/problem+json") {
            return String::new();
        }
        self.json()["code"].as_str().unwrap().to_owned()
    }

    /// That this is the replay of `first`: its status, its bytes, and the mark of a replay.
    #[track_caller]
    pub(crate) fn replays(&self, first: &Self) {
        assert!(self.is_replay() && !first.is_replay(), "{first:?} then {self:?}");
        assert_eq!((self.status, &self.body), (first.status, &first.body), "{first:?} then {self:?}");
        assert_eq!(self.header("content-type"), first.header("content-type"));
    }

    /// That a twin is at work, and that it says when to come again.
    #[track_caller]
    pub(crate) fn is_in_progress(&self) {
        assert_eq!(
            (self.status.as_u16(), self.code().as_str()),
            (409, "IDEMPOTENCY_IN_PROGRESS"),
            "{self:?}"
        );
        assert!(self.retry_after().is_some_and(|seconds| (1..=5).contains(&seconds)), "{self:?}");
    }
}

/// Sends over a connection of its own, over HTTP/1.
pub(crate) async fn send(to: SocketAddr, call: Call) -> Answer {
    try_send(to, call).await.expect("the request is answered")
}

pub(crate) async fn try_send(to: SocketAddr, call: Call) -> hyper::Result<Answer> {
    let connection = TcpStream::connect(to).await.expect("the server listens");
    let (mut sender, driver) = http1::handshake(TokioIo::new(connection)).await?;
    let _driver = Driven::by(driver);
    Answer::read(sender.send_request(call).await?).await
}

/// The same in a task, for requests that take until the test lets them.
pub(crate) fn sending(to: SocketAddr, call: Call) -> JoinHandle<hyper::Result<Answer>> {
    tokio::spawn(try_send(to, call))
}

/// An HTTP/2 connection; it ends when the value is dropped.
pub(crate) struct Http2<B> {
    pub(crate) sender: http2::SendRequest<B>,
    _driver: Driven,
}

impl<B> Http2<B>
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    pub(crate) async fn connect(to: SocketAddr) -> Self {
        let connection = TcpStream::connect(to).await.expect("the server listens");
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(connection)).await;
        let (sender, driver) = handshake.expect("the server speaks HTTP/2");
        Self { sender, _driver: Driven::by(driver) }
    }
}

/// The task that moves the bytes of a connection; without it the connection is closed.
struct Driven(JoinHandle<()>);

impl Driven {
    fn by(driver: impl Future<Output = hyper::Result<()>> + Send + 'static) -> Self {
        // A connection that breaks is noticed by whoever waits for an answer.
        Self(tokio::spawn(async move { drop(driver.await) }))
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.abort();
    }
}
