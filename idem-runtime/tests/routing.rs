//! The typed routes serve what axum's own serve, and every shape of handler, without a network.
#![cfg(all(feature = "axum", feature = "sqlite"))]

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::{ConnectInfo, FromRequestParts, Path, Query, State};
use axum::handler::Handler;
use axum::http::request::Parts;
use axum::http::{Method, Request, StatusCode, Uri};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use idem_runtime::axum::{
    IdempotencyState, MethodFilter, MethodRouter, Router, any, any_service_unchecked, connect, delete,
    exempt, get, get_service, head, on, on_service_unchecked, options, patch, post, put, read_only, reason,
    trace,
};
use idem_runtime::sqlite::{Guard, Idempotency};
use idem_runtime::{KeyError, Scope, idempotent};
use serde::de::DeserializeOwned;
use tower::{ServiceExt, service_fn};

#[derive(Clone)]
struct App {
    guard: Guard,
}

struct User;

impl<S: Sync> FromRequestParts<S> for User {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self)
    }
}

impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = User;

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn scope(_: &User) -> Result<Scope, KeyError> {
        Scope::new("acme", "user-7")
    }
}

impl App {
    async fn new() -> Self {
        let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:");
        let guard = Guard::builder(pool.await.unwrap()).migrate().build().await.unwrap();
        Self { guard }
    }
}

/// Status and content of the answer to a request with a key; `ignored` stands before what ignored it.
async fn ask(app: &axum::Router, method: Method, path: &str) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).header("idempotency-key", "k");
    let request = request.body(Body::empty()).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let mark = if response.headers().contains_key("idempotency-status") { "ignored " } else { "" };
    let replayed = if response.headers().contains_key("idempotent-replayed") { "replayed " } else { "" };
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, format!("{mark}{replayed}{}", String::from_utf8(body.to_vec()).unwrap()))
}

async fn plain() -> &'static str {
    "plain"
}

fn said(status: u16, text: &str) -> (u16, String) {
    (status, text.to_owned())
}

const WHY: &str = "it changes nothing";

#[tokio::test]
async fn writing_methods_take_declared_handlers_and_reading_ones_any() {
    let writes = |route: MethodRouter| Router::new().route("/", route).into_axum();
    for (method, route) in [
        (Method::POST, post(exempt(WHY, plain))),
        (Method::PUT, put(exempt(WHY, plain))),
        (Method::PATCH, patch(read_only(plain))),
        (Method::DELETE, delete(read_only(plain))),
        (Method::POST, on(MethodFilter::POST.or(MethodFilter::PUT), exempt(WHY, plain))),
        (Method::DELETE, any(exempt(WHY, plain))),
        (Method::POST, get(plain).post(exempt(WHY, plain))),
        (Method::PUT, get(plain).put(exempt(WHY, plain))),
        (Method::PATCH, get(plain).patch(exempt(WHY, plain))),
        (Method::DELETE, get(plain).delete(exempt(WHY, plain))),
        (Method::POST, get(plain).on(MethodFilter::POST, exempt(WHY, plain))),
        (Method::PUT, get(plain).fallback(exempt(WHY, plain))),
        (Method::POST, post(exempt(reason!("it changes nothing"), plain).until("2027-01-31"))),
        (Method::POST, post(exempt(WHY, || async { "plain" }))),
    ] {
        let app = writes(route);
        assert_eq!(ask(&app, method.clone(), "/").await, said(200, "ignored plain"), "{method}");
    }
    for (method, route) in [
        (Method::GET, get(plain)),
        (Method::OPTIONS, options(plain)),
        (Method::TRACE, trace(plain)),
        (Method::GET, head(plain).get(plain).options(plain).trace(plain).connect(plain)),
        (Method::GET, get_service(service_fn(|_| async { Ok("plain".into_response()) }))),
    ] {
        let app = writes(route);
        assert_eq!(ask(&app, method.clone(), "/").await, said(200, "plain"), "{method}");
    }
    // These two have no content.
    for (method, route) in [(Method::HEAD, head(plain)), (Method::CONNECT, connect(plain))] {
        assert_eq!(ask(&writes(route), method.clone(), "/").await, said(200, ""), "{method}");
    }
}

struct Orders;

impl Orders {
    #[idempotent(route = "orders.create")]
    async fn create(idem: Idempotency) -> String {
        idem.downstream_key("x").as_str()[..0].to_owned() + "created"
    }

    fn list() -> impl Future<Output = &'static str> {
        std::future::ready("list")
    }
}

#[idempotent(route = "orders.generic")]
async fn generic<T: DeserializeOwned + Send + 'static>(idem: Idempotency, Query(_): Query<T>) -> String {
    "generic".to_owned()
}

#[idempotent(route = "orders.wide")]
#[allow(clippy::too_many_arguments)]
async fn wide(
    idem: Idempotency,
    State(_): State<App>,
    Path(_): Path<String>,
    method: Method,
    _: Uri,
    _: Method,
    _: Uri,
    _: Method,
    _: Uri,
    _: Method,
    _: Uri,
    _: Method,
    _: Uri,
    _: Method,
    _: Uri,
    body: String,
) -> String {
    format!("{method}{body}")
}

#[tokio::test]
async fn every_shape_of_a_guarded_handler_runs_once() {
    let marked = map_response(|response: Response| async { response });
    let app = Router::new()
        .route("/associated", get(Orders::list).post(Orders::create))
        .route("/generic", put(generic::<std::collections::HashMap<String, String>>))
        .route("/wide/{id}", patch(wide))
        .route("/layered", post(Orders::create.layer(marked)))
        .with_state(App::new().await)
        .into_axum();
    for (method, path, text) in [
        (Method::POST, "/associated", "created"),
        (Method::PUT, "/generic", "generic"),
        (Method::PATCH, "/wide/1", "PATCH"),
    ] {
        assert_eq!(ask(&app, method.clone(), path).await, said(200, text));
        assert_eq!(ask(&app, method, path).await, said(200, &format!("replayed {text}")));
    }
    assert_eq!(ask(&app, Method::POST, "/layered").await.0, 422, "the route of `/associated`");
    assert_eq!(ask(&app, Method::GET, "/associated").await, said(200, "list"));
}

async fn named(State(name): State<&'static str>) -> &'static str {
    name
}

async fn loud(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Response::from_parts(parts, [&body[..], b"!"].concat().into())
}

#[tokio::test]
async fn routers_nest_merge_layer_and_fall_back_as_axum_has_them() {
    let inner = Router::new().route("/named", post(exempt(WHY, named))).with_state("inner");
    let merged = Router::new().route("/merged", get(named).merge(post(exempt(WHY, named))));
    let stated: MethodRouter<&'static str> = post(exempt(WHY, named)).with_state("its own");
    let app: Router<&'static str> = Router::new()
        .nest("/inner", inner)
        .merge(merged)
        .route("/stated", stated)
        .route("/layered", post(exempt(WHY, named)).layer(map_response(loud)))
        .route("/routes", post(exempt(WHY, named)).route_layer(map_response(loud)))
        .fallback(read_only(|| async { (StatusCode::NOT_FOUND, "nowhere") }))
        .method_not_allowed_fallback(read_only(|| async { (StatusCode::METHOD_NOT_ALLOWED, "not so") }));
    assert!(app.has_routes() && !Router::<()>::new().has_routes());
    let app = app.with_state("outer");
    let plain = app.clone().into_axum();
    for (path, answer) in [
        ("/inner/named", said(200, "ignored inner")),
        ("/merged", said(200, "ignored outer")),
        ("/stated", said(200, "ignored its own")),
        ("/layered", said(200, "ignored outer!")),
        ("/routes", said(200, "ignored outer!")),
        ("/nowhere", said(404, "ignored nowhere")),
    ] {
        assert_eq!(ask(&plain, Method::POST, path).await, answer, "{path}");
    }
    assert_eq!(ask(&plain, Method::PUT, "/stated").await, said(405, "ignored not so"));
    let layered = app.clone().layer(map_response(loud)).into_axum();
    assert_eq!(ask(&layered, Method::POST, "/nowhere").await, said(404, "ignored nowhere!"));
    let layered = app.clone().route_layer(map_response(loud)).into_axum();
    assert_eq!(ask(&layered, Method::POST, "/nowhere").await, said(404, "ignored nowhere"));
    assert_eq!(ask(&layered, Method::POST, "/stated").await, said(200, "ignored its own!"));
    let other = Router::new().fallback(read_only(plain_404));
    let both = app.reset_fallback().merge(other).into_axum();
    assert_eq!(ask(&both, Method::POST, "/nowhere").await, said(404, "ignored other"));
}

async fn plain_404() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "other")
}

#[derive(Clone, Debug)]
struct Broken;

#[tokio::test]
async fn what_nobody_checked_is_mounted_under_names_that_say_so() {
    let service = || service_fn(|_: Request<Body>| async { Ok::<_, Infallible>("service".into_response()) });
    let broken =
        on_service_unchecked(MethodFilter::POST, service_fn(|_| async { Err::<Response, _>(Broken) }));
    let broken = broken.handle_error(|_: Broken| async { (StatusCode::BAD_GATEWAY, "broken") });
    let raw = || axum::Router::new().route("/raw", axum::routing::post(plain));
    let app: Router = Router::new()
        .route_service_unchecked("/route", service())
        .nest_service_unchecked("/nest", service())
        .nest_unchecked("/below", raw())
        .merge_unchecked(raw())
        .route("/any", any_service_unchecked(service()))
        .route("/on", get(plain).on_service_unchecked(MethodFilter::POST, service()))
        .route("/rest", get(plain).fallback_service_unchecked(service()))
        .route("/methods", get(plain).merge_unchecked(axum::routing::post(plain)))
        .route("/broken", broken)
        .fallback_service_unchecked(service());
    let app = app.into_axum();
    for path in ["/route", "/nest/deep", "/any", "/on", "/rest", "/nowhere"] {
        assert_eq!(ask(&app, Method::POST, path).await, said(200, "service"), "{path}");
    }
    for path in ["/below/raw", "/raw", "/methods"] {
        assert_eq!(ask(&app, Method::POST, path).await, said(200, "plain"), "{path}");
    }
    assert_eq!(ask(&app, Method::POST, "/broken").await, said(502, "broken"));
}

async fn peer(ConnectInfo(address): ConnectInfo<SocketAddr>) -> String {
    address.to_string()
}

#[tokio::test]
async fn a_served_router_can_name_the_address_of_its_client() {
    let app: Router = Router::new().route("/", post(exempt(WHY, peer)));
    let client = SocketAddr::from(([192, 0, 2, 7], 80));
    let serving = app.clone().into_make_service_with_connect_info::<SocketAddr>();
    let served = serving.oneshot(client).await.unwrap();
    let request = Request::post("/").body(Body::empty()).unwrap();
    let body = served.oneshot(request).await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(&body.to_bytes()[..], b"192.0.2.7:80");
    let without = app.into_make_service().oneshot(client).await.unwrap();
    assert_eq!(ask(&without, Method::POST, "/").await.0, 500, "axum's own refusal");
}

#[test]
#[should_panic(expected = "at least 10 characters")]
fn a_reason_that_says_nothing_stops_the_start() {
    let _ = exempt("login", plain);
}

#[test]
#[should_panic(expected = "2027-01-31")]
fn a_last_day_that_is_none_stops_the_start() {
    let _ = exempt(WHY, plain).until("next year");
}
