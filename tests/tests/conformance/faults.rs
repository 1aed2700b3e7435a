//! The runner can fail: faults put in front of the reference app are caught by the cases that are about them.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use idem_conformance::{NoControl, Server, Verdict};
use idem_test_support::sqlite::SqliteDatabase;
use reference_app::Arguments;

/// What is wrong with the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Nothing: the cases hold, so that what follows is the work of the faults.
    None,
    /// The keys of orders are not looked at, as if the route were exempt.
    NoGuard,
    /// Replays do not say that they are.
    NoMarker,
    /// A conflict is answered as if the request were in progress.
    WrongCode,
    /// The last byte of a replay is missing.
    ShortReplay,
    /// A replay repeats the cookie of the first answer.
    ReplayedCookie,
    /// All users are one.
    OneUser,
    /// All keys are one, and a request without a key gets it too.
    OneKey,
    /// Letter case and signs of a key do not count.
    FoldedKey,
    /// A key that is not right is made a fresh one that is.
    ForgivenKey,
    /// A replay has lost its headers.
    BareReplay,
    /// Every answer says that it is a replay.
    AlwaysMarked,
    /// Failures are told as another one.
    Blurred,
}

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// What the faults do to the key and the path of a request.
fn spoil(fault: Fault, request: &mut Request) {
    let fresh = || HeaderValue::try_from(uuid::Uuid::new_v4().to_string()).unwrap();
    let key = request.headers().get(KEY).cloned();
    let is_sign = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'-';
    match (fault, key) {
        (Fault::OneKey, _) => {
            request.headers_mut().insert(KEY, HeaderValue::from_static("one"));
        }
        (Fault::FoldedKey, Some(key)) => {
            let folded: Vec<u8> = key.as_bytes().iter().filter(|byte| !is_sign(byte)).copied().collect();
            let folded = format!("k{}", String::from_utf8_lossy(&folded).to_lowercase());
            request.headers_mut().insert(KEY, HeaderValue::try_from(folded).unwrap());
        }
        (Fault::ForgivenKey, Some(key)) if key.is_empty() || key.as_bytes().iter().any(is_sign) => {
            request.headers_mut().insert(KEY, fresh());
        }
        (Fault::NoGuard, Some(_))
            if request.method() == Method::POST && request.uri().path() == "/orders" =>
        {
            request.headers_mut().insert(KEY, fresh());
        }
        _ => {}
    }
}

async fn with_fault(State(fault): State<Fault>, mut request: Request, next: Next) -> Response {
    spoil(fault, &mut request);
    if fault == Fault::OneUser {
        for name in ["x-tenant", "x-user"] {
            request.headers_mut().insert(name, HeaderValue::from_static("everybody"));
        }
    }
    let mut response = next.run(request).await;
    let replayed = response.headers().contains_key(REPLAYED);
    match fault {
        Fault::NoMarker => {
            response.headers_mut().remove(REPLAYED);
        }
        Fault::WrongCode if response.status() == StatusCode::UNPROCESSABLE_ENTITY => {
            *response.status_mut() = StatusCode::CONFLICT;
        }
        Fault::ReplayedCookie if replayed => {
            response.headers_mut().insert(header::SET_COOKIE, HeaderValue::from_static("session=1"));
        }
        Fault::BareReplay if replayed => {
            let headers = response.headers_mut();
            headers.clear();
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
        }
        Fault::AlwaysMarked => {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        Fault::Blurred if response.status().is_client_error() || response.status().is_server_error() => {
            *response.status_mut() = StatusCode::IM_A_TEAPOT;
        }
        Fault::ShortReplay if replayed => {
            let (mut parts, body) = response.into_parts();
            let bytes = to_bytes(body, usize::MAX).await.unwrap();
            parts.headers.remove(header::CONTENT_LENGTH);
            return Response::from_parts(parts, Body::from(bytes.slice(..bytes.len().saturating_sub(1))));
        }
        _ => {}
    }
    response
}

/// The app with a fault, in this process.
async fn serve(fault: Fault, database: &SqliteDatabase) -> Server {
    let app: Router = reference_app::service(&Arguments::new(database.url())).await.unwrap();
    let app = app.layer(from_fn_with_state(fault, with_fault));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = Server::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    server
}

/// The ids of those cases that fail.
async fn failing(fault: Fault, ids: &[&str]) -> Vec<String> {
    let database = SqliteDatabase::create();
    let server = serve(fault, &database).await;
    let mut failing = Vec::new();
    for case in idem_conformance::all().iter().filter(|case| ids.contains(&case.id.as_str())) {
        let report = idem_conformance::run(case, &server, &NoControl).await;
        if let Verdict::Failed(reason) = &report.verdict {
            assert!(reason.starts_with("step "), "a report says where: {reason}");
            failing.push(report.id);
        }
    }
    failing
}

#[tokio::test]
async fn each_fault_is_caught_by_the_cases_about_it_and_by_no_other() {
    let cases = [
        "A06", "A64", "B30", "B66", "B69", "C03", "C62", "C64", "D01", "D10", "D85", "E03", "E06", "G61",
        "H02", "L01", "L61",
    ];
    for (fault, caught_by) in [
        (Fault::None, ""),
        (Fault::NoGuard, "C03 D01 D10 H02 B66 B69 D85"),
        (Fault::NoMarker, "C03 D01 H02 A64 B66 C62 D85 G61"),
        (Fault::WrongCode, "D10 D85"),
        (Fault::ShortReplay, "C03 D01 H02 A64 B66 C62 D85 G61"),
        (Fault::ReplayedCookie, "C03"),
        (Fault::OneUser, "E03 H02"),
        (Fault::OneKey, "B30 C03 D01 D10 E06 H02 L01 A64 B66 B69 C64 D85 L61"),
        (Fault::FoldedKey, "B30 B69"),
        (Fault::ForgivenKey, "B66 B69"),
        (Fault::BareReplay, "C62"),
        (Fault::AlwaysMarked, "A06 B30 C03 D01 D10 E03 E06 H02 L01 A64 B66 B69 C62 C64 D85 G61 L61"),
        (Fault::Blurred, "D10 H02 B69 D85 G61"),
    ] {
        assert_eq!(failing(fault, &cases).await.join(" "), caught_by, "{fault:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_fails_every_case() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = Server::new(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    let cases = idem_conformance::all();
    let report = idem_conformance::run(&cases[0], &server, &NoControl).await;
    assert!(report.has_failed(), "{report}");
}

#[tokio::test]
async fn a_case_that_needs_more_than_a_url_is_left_out_with_a_reason() {
    let server = Server::new("http://127.0.0.1:9").unwrap();
    let cases = idem_conformance::all();
    let case = cases.iter().find(|case| !case.requires.is_empty()).unwrap();
    let report = idem_conformance::run(case, &server, &NoControl).await;
    assert!(matches!(report.verdict, Verdict::LeftOut(_)), "{report}");
}
