//! How the audit finds out what a name means.

use crate::common::{audit, routes, routes_of};

#[test]
fn renamed_imports_and_globs_are_followed() {
    for import in [
        "use axum::{Router as R, routing::post as p};",
        "use axum::Router as R; use axum::routing; use routing::post as p;",
        "use prelude::*; mod prelude { pub use axum::Router as R; pub use axum::routing::post as p; }",
        "use crate::a::b::{R, p}; mod a { pub mod b { pub use super::super::c::*; } } mod c { pub use axum::Router as R; pub use axum::routing::post as p; }",
        "type R = axum::Router<()>; use ::axum::routing::post as p;",
    ] {
        let source = format!(
            "{import}\nfn app() -> R {{ R::new().route(\"/a\", p(create)) }}\nasync fn create() {{}}"
        );
        assert_eq!(routes(&audit(&source)), ["POST /a undeclared app::create"], "{import}");
    }
}

#[test]
fn a_name_inside_a_body_hides_the_one_outside() {
    let source = r#"fn app() -> Router {
        async fn create() {}
        mod inner { pub async fn other() {} }
        let path = "/outer";
        { let path = "/inner"; let _ = path; }
        Router::new().route(path, post(create)).route("/b", post(inner::other))
    }"#;
    assert_eq!(
        routes_of(source),
        ["POST /outer undeclared app::app::create", "POST /b undeclared app::app::inner::other"]
    );
}

#[test]
fn a_local_function_called_post_is_not_axums() {
    let source = r#"
        use axum::Router;
        fn post(path: &str) -> Router { Router::new().route(path, axum::routing::post(create)) }
        fn app() -> Router { Router::new().merge(post("/a")) }
        async fn create() {}"#;
    assert_eq!(routes(&audit(source)), ["POST /a undeclared app::create"]);
}

#[test]
fn a_path_is_read_from_constants_formats_and_joins() {
    let source = r#"
        const BASE: &str = "/api"; static ORDERS: &str = "orders";
        mod paths { pub const CARTS: &str = concat!("/", "carts"); }
        struct Paths; impl Paths { fn unused() {} }
        fn app() -> Router {
            let id = "{id}";
            Router::new()
                .route(&format!("{BASE}/{}/{{id}}", ORDERS), post(create))
                .route(paths::CARTS, post(create))
                .route(&(String::from("/a") + "/b"), post(create))
                .route(format!("/x/{id}").as_str(), post(create))
        }"#;
    assert_eq!(
        routes_of(source),
        [
            "POST /api/orders/{id} undeclared app::create",
            "POST /carts undeclared app::create",
            "POST /a/b undeclared app::create",
            "POST /x/{id} undeclared app::create"
        ]
    );
}

#[test]
fn handlers_are_found_in_types_traits_and_modules() {
    let source = r#"
        struct Orders<S>(S);
        impl<S> Orders<S> { async fn create() {} fn router() -> Router { Router::new().route("/b", post(Self::create)) } }
        trait Api { async fn act() {} }
        fn app() -> Router {
            Router::new().route("/a", post(Orders::<u8>::create)).merge(Orders::<u8>::router()).route("/c", post(Api::act))
        }"#;
    assert_eq!(
        routes_of(source),
        [
            "POST /b undeclared app::Orders::create",
            "POST /a undeclared app::Orders::create",
            "POST /c undeclared app::Api::act"
        ]
    );
}

#[test]
fn typed_paths_and_documented_routes_are_read() {
    let source = r#"
        #[derive(TypedPath)] #[typed_path("/orders/{id}")] struct Order { id: u32 }
        async fn replace(_: Order) {}
        #[utoipa::path(post, path = "/carts", responses((status = 200)))] async fn cart() {}
        fn app() -> Router {
            let (router, api) = utoipa_axum::router::OpenApiRouter::new().routes(routes!(cart)).split_for_parts();
            api.whatever();
            Router::new().typed_put(replace).merge(router)
        }"#;
    assert_eq!(
        routes_of(source),
        ["POST /carts undeclared app::cart", "PUT /orders/{id} undeclared app::replace"]
    );
}
