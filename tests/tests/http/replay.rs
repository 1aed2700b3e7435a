//! A replay is the first answer: its status, its headers and its bytes, and nothing of its connection.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use futures_util::stream;
use idem_runtime::axum::{Router, post as post_to};
use idem_runtime::{AnswerBody, Idempotency, Mutation, Status, idempotent};
use idem_tests::shop::Shop;
use idem_tests::{Fixture, on_every_database};

use crate::client::{Answer, Call, body, keyed, with};
use crate::site::Site;

/// As much as the guards of these tests keep of a body.
const LIMIT: usize = 4096;

fn post(path: &str, key: &str) -> Call {
    keyed(Method::POST, path, key).body(body("")).unwrap()
}

/// Each byte there is, NUL and what is no UTF-8 among them, more than once.
fn all_bytes() -> Bytes {
    (0..4).flat_map(|_| 0..=u8::MAX).collect()
}

const LINKS: [&[u8]; 3] =
    [b"</a>; rel=\"first\", </b>; rel=next", b"</\xfc>; rel=\"last\"", b"</a>; rel=\"first\""];

/// A header whose value is any bytes.
fn line(name: &'static str, value: &[u8]) -> (HeaderName, HeaderValue) {
    (HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap())
}

#[idempotent(route = "answers.decorated", headers("x-trace", "X-Weird"))]
async fn decorated<F: Fixture>(idem: Idempotency<F::S>, mutation: &mut Mutation<F::S>) -> Response {
    F::effect(mutation, "decorated").await.unwrap();
    let lines = [
        line("content-type", b"application/x-\xe9; q=\"a,b\""),
        line("link", LINKS[0]),
        line("x-trace", b"first"),
        line("link", LINKS[1]),
        line("etag", b"W/\"1\""),
        line("set-cookie", b"session=1"),
        line("keep-alive", b"timeout=5"),
        line("set-cookie", b"theme=dark"),
        line("date", b"Thu, 01 Jan 1970 00:00:00 GMT"),
        line("link", LINKS[2]),
        line("x-trace", b"second"),
        line("x-weird", b"\x80\xff, caf\xc3\xa9"),
        line("x-request-id", b"7"),
        line("location", b"/answers/1"),
        line("last-modified", b"Thu, 01 Jan 1970 00:00:00 GMT"),
        line("content-language", b"de, fr"),
        line("content-location", b"/answers/1?as=text"),
        line("content-disposition", b"attachment; filename=\"gr\xfcn.txt\""),
        line("cache-control", b"private"),
    ];
    (StatusCode::ACCEPTED, AppendHeaders(lines), Body::from(all_bytes())).into_response()
}

async fn a_replay_has_every_byte_and_every_kept_header_in_its_order<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(decorated::<F>))).await;
    let first = site.send(post("/", "k")).await;
    let second = site.send(post("/", "k")).await;
    second.replays(&first);
    assert_eq!((second.status, &second.body), (StatusCode::ACCEPTED, &all_bytes()));
    for answer in [&first, &second] {
        let all = |name: &str| {
            answer
                .headers
                .get_all(name)
                .iter()
                .map(HeaderValue::as_bytes)
                .map(<[u8]>::to_vec)
                .collect::<Vec<_>>()
        };
        assert_eq!(all("link"), LINKS);
        assert_eq!(all("x-trace"), [&b"first"[..], b"second"]);
        assert_eq!(all("x-weird"), [b"\x80\xff, caf\xc3\xa9"]);
        assert_eq!(all("content-type"), [&b"application/x-\xe9; q=\"a,b\""[..]]);
        assert_eq!(all("content-disposition"), [&b"attachment; filename=\"gr\xfcn.txt\""[..]]);
        assert_eq!(answer.header("content-length"), Some(&b"1024"[..]));
        // Those that HTTP adds say nothing of the answer; one that the first gave itself is not repeated.
        assert_eq!(all("date").len(), 1);
    }
    for name in ["etag", "location", "last-modified", "content-language", "content-location", "cache-control"]
    {
        assert_eq!(first.header(name), second.header(name), "{name}");
        assert!(second.header(name).is_some(), "{name}");
    }
    assert_eq!(first.headers.get_all("set-cookie").iter().count(), 2);
    for name in ["set-cookie", "keep-alive", "x-request-id"] {
        assert!(first.header(name).is_some() && second.header(name).is_none(), "{name}");
    }
    assert_ne!(second.header("date"), first.header("date"));
    let ends = site.record("answers.decorated", "k").await.unwrap().expires_at.as_micros() / 1_000_000;
    let told = String::from_utf8(second.header("idempotency-key-expires").unwrap().to_vec()).unwrap();
    let told = time::OffsetDateTime::parse(&told, &time::format_description::well_known::Rfc3339).unwrap();
    assert_eq!(told.unix_timestamp(), ends);
    assert_eq!(second.header("idempotency-key-expires"), first.header("idempotency-key-expires"));
    assert_eq!(site.effects("decorated").await, 1);
}

#[idempotent(route = "answers.empty")]
async fn empty<F: Fixture>(idem: Idempotency<F::S>, mutation: &mut Mutation<F::S>) -> StatusCode {
    F::effect(mutation, "empty").await.unwrap();
    StatusCode::NO_CONTENT
}

async fn an_answer_without_content_is_replayed_without_content<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(empty::<F>))).await;
    let first = site.send(post("/", "k")).await;
    let second = site.send(post("/", "k")).await;
    second.replays(&first);
    for answer in [first, second] {
        assert_eq!((answer.status, &answer.body[..]), (StatusCode::NO_CONTENT, &b""[..]));
        assert_eq!((answer.header("content-type"), answer.header("content-length")), (None, None));
    }
    assert_eq!(site.effects("empty").await, 1);
}

/// `hello` as gzip, made elsewhere.
const GZIP: &[u8] =
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcbH\xcd\xc9\xc9\x07\x00\x86\xa6\x106\x05\x00\x00\x00";

#[idempotent(route = "answers.zipped")]
async fn zipped<F: Fixture>(idem: Idempotency<F::S>) -> impl IntoResponse {
    ([(header::CONTENT_ENCODING, "gzip"), (header::CONTENT_TYPE, "text/plain")], GZIP)
}

async fn a_compressed_answer_is_replayed_compressed<F: Fixture>() {
    let site = Site::<F>::of(Router::new().route("/", post_to(zipped::<F>))).await;
    let first = site.send(post("/", "k")).await;
    // What the retry accepts changes nothing: it gets the first answer.
    let second = site.send(with(post("/", "k"), "accept-encoding", "identity")).await;
    second.replays(&first);
    assert_eq!(&second.body[..], GZIP);
    assert_eq!(second.header("content-encoding"), Some(&b"gzip"[..]));
}

#[idempotent(route = "answers.large")]
async fn large<F: Fixture>(idem: Idempotency<F::S>, mutation: &mut Mutation<F::S>, size: String) -> Response {
    F::effect(mutation, "large").await.unwrap();
    let size = size.parse().unwrap();
    (StatusCode::CREATED, [(header::LOCATION, "/large/1")], vec![7; size]).into_response()
}

#[idempotent(route = "answers.large-external")]
async fn large_external<F: Fixture>(idem: Idempotency<F::S>, size: String) -> Response {
    let size = size.parse().unwrap();
    (StatusCode::CREATED, [(header::LOCATION, "/large/1")], vec![7; size]).into_response()
}

async fn limited<F: Fixture>(routes: Router<Shop<F>>) -> Site<F> {
    Site::built(|builder| builder.max_answer_bytes(LIMIT), |shop| shop.serves(routes)).await
}

fn is_omitted(answer: &Answer) -> bool {
    answer.header("idempotent-replay-body") == Some(b"omitted")
}

async fn an_answer_over_the_limit_is_given_once_whole_and_replayed_without_its_body<F: Fixture>() {
    let routes = Router::new().route("/own", post_to(large::<F>));
    let site = limited::<F>(routes.route("/other", post_to(large_external::<F>))).await;
    for path in ["/own", "/other"] {
        let sized =
            |key: &str, size: usize| keyed(Method::POST, path, key).body(body(size.to_string())).unwrap();
        let fits = site.send(sized("fits", LIMIT)).await;
        let again = site.send(sized("fits", LIMIT)).await;
        again.replays(&fits);
        assert_eq!((again.body.len(), is_omitted(&again)), (LIMIT, false));

        let first = site.send(sized("over", LIMIT + 1)).await;
        assert_eq!((first.status, &first.body[..]), (StatusCode::CREATED, &[7; LIMIT + 1][..]));
        assert!(!is_omitted(&first));
        for _ in 0..2 {
            let again = site.send(sized("over", LIMIT + 1)).await;
            assert!(again.is_replay() && is_omitted(&again), "{again:?}");
            assert_eq!((again.status, &again.body[..]), (StatusCode::CREATED, &b""[..]));
            for name in ["location", "content-type"] {
                assert_eq!(again.header(name), first.header(name));
            }
        }
    }
    assert_eq!(site.effects("large").await, 2, "one for each key");
    let kept = site.record("answers.large", "over").await.unwrap().answer.unwrap();
    assert_eq!(kept.body, AnswerBody::Omitted);
}

fn endless_body() -> Body {
    Body::from_stream(stream::repeat(Ok::<_, Infallible>(Bytes::from_static(&[0; 1024]))))
}

#[idempotent(route = "answers.endless")]
async fn endless<F: Fixture>(idem: Idempotency<F::S>, mutation: &mut Mutation<F::S>) -> Body {
    F::effect(mutation, "endless").await.unwrap();
    endless_body()
}

#[idempotent(route = "answers.endless-external")]
async fn endless_external<F: Fixture>(idem: Idempotency<F::S>) -> Body {
    endless_body()
}

async fn a_stream_without_an_end_is_refused_at_once_and_its_claim_settled<F: Fixture>() {
    let routes = Router::new().route("/own", post_to(endless::<F>));
    let site = Site::<F>::of(routes.route("/other", post_to(endless_external::<F>))).await;
    for path in ["/own", "/other"] {
        let refused = site.send(post(path, "k")).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (500, "IDEMPOTENCY_MISUSE"));
        let problem = refused.json();
        assert!(problem["detail"].as_str().unwrap().contains("stream of unknown length"), "{problem}");
        assert_eq!(problem["retryable"], false);
    }
    let own = site.record("answers.endless", "k").await.unwrap();
    assert_eq!((own.status, own.answer, own.released_at), (Status::Failed, None, None));
    assert_eq!(site.effects("endless").await, 0, "rolled back");
    let again = site.send(post("/own", "k")).await;
    assert_eq!((again.status.as_u16(), again.code().as_str()), (409, "IDEMPOTENCY_FAILED"));
    // Its effect outside happened, so that nothing but an operator may run it again.
    assert!(site.record("answers.endless-external", "k").await.unwrap().outcome_unknown);
    let again = site.send(post("/other", "k")).await;
    assert_eq!((again.status.as_u16(), again.code().as_str()), (409, "IDEMPOTENCY_OUTCOME_UNKNOWN"));
}

on_every_database! {
    a_replay_has_every_byte_and_every_kept_header_in_its_order,
    an_answer_without_content_is_replayed_without_content,
    a_compressed_answer_is_replayed_compressed,
    an_answer_over_the_limit_is_given_once_whole_and_replayed_without_its_body,
    a_stream_without_an_end_is_refused_at_once_and_its_claim_settled,
}
