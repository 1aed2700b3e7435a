//! How the audit follows routers as they are built.

use crate::common::routes_of;

#[test]
fn a_path_is_joined_through_every_nest() {
    let source = r#"
        fn app() -> Router { Router::new().nest("/api/", Router::new().nest("/v1", orders())) }
        fn orders() -> Router { Router::new().route("/", post(create)).route("/{id}", put(create)).fallback(create) }"#;
    assert_eq!(
        routes_of(source),
        [
            "POST /api/v1 undeclared app::create",
            "PUT /api/v1/{id} undeclared app::create",
            "ANY /api/v1/* undeclared app::create"
        ]
    );
}

#[test]
fn one_router_under_two_paths_is_listed_twice() {
    let source = r#"fn app() -> Router {
        let orders = Router::new().route("/orders", post(create));
        Router::new().nest("/v1", orders.clone()).nest("/v2", orders)
    }"#;
    assert_eq!(
        routes_of(source),
        ["POST /v1/orders undeclared app::create", "POST /v2/orders undeclared app::create"]
    );
}

#[test]
fn every_branch_and_every_loop_counts() {
    let source = r#"fn app(debug: bool) -> Router {
        let mut app = Router::new();
        if debug { app = app.route("/a", post(create)); } else { app = app.route("/b", post(create)); }
        for _ in 0..3 { app = app.route("/c", post(create)); }
        let app = match debug { true => app.route("/d", post(create)), false => return app.route("/e", post(create)) };
        Router::new().nest("/x", app)
    }"#;
    assert_eq!(
        routes_of(source),
        [
            "POST /x/a undeclared app::create",
            "POST /x/b undeclared app::create",
            "POST /x/c undeclared app::create",
            "POST /x/d undeclared app::create",
            "POST /e undeclared app::create"
        ]
    );
}

#[test]
fn a_function_is_followed_with_what_it_is_given() {
    let source = r#"
        fn app() -> Router { Router::new().nest("/api", with_orders(Router::new(), "/orders", post(create))) }
        fn with_orders(router: Router, path: &str, methods: MethodRouter) -> Router { router.route(path, methods) }"#;
    assert_eq!(routes_of(source), ["POST /api/orders undeclared app::create"]);
}

#[test]
fn a_method_router_is_followed_through_bindings_functions_and_merges() {
    let source = r#"
        fn app() -> Router {
            let methods = get(create).post(create);
            Router::new().route("/a", methods.merge(more()).layer(trace()))
        }
        fn more() -> MethodRouter { MethodRouter::new().put(create).fallback(create) }"#;
    assert_eq!(
        routes_of(source),
        ["POST /a undeclared app::create", "PUT /a undeclared app::create", "ANY /a undeclared app::create"]
    );
}

#[test]
fn a_filter_gives_its_writing_methods_and_an_unknown_one_all() {
    let source = r#"
        use axum::routing::{MethodFilter, on};
        fn app(filter: MethodFilter) -> Router {
            Router::new()
                .route("/a", on(MethodFilter::GET.or(MethodFilter::PUT).or(MethodFilter::PATCH), create))
                .route("/b", on(MethodFilter::HEAD, create))
                .route("/c", on(filter, create))
        }"#;
    assert_eq!(
        routes_of(source),
        ["PUT /a undeclared app::create", "PATCH /a undeclared app::create", "ANY /c undeclared app::create"]
    );
}

#[test]
fn routers_in_fields_closures_statics_and_wrappers_are_seen() {
    let source = r#"
        struct Server { router: Router }
        impl Server { fn add(&mut self) { self.router = self.router.clone().route("/field", post(create)); } }
        static APP: LazyLock<Router> = LazyLock::new(|| Router::new().route("/static", post(create)));
        fn app() -> Result<Router, ()> { let add = |r: Router| r.route("/closure", post(create)); Ok(add(Router::new())) }
        async fn serve() { axum::serve(l, Router::new().route("/served", post(create)).into_make_service()).await; }"#;
    assert_eq!(
        routes_of(source),
        [
            "POST /field undeclared app::create",
            "POST /static undeclared app::create",
            "POST /closure undeclared app::create",
            "POST /served undeclared app::create"
        ]
    );
}

#[test]
fn a_function_call_written_out_is_a_method_call() {
    let source = r#"fn app() -> Router { Router::route(Router::new(), "/a", MethodRouter::post(get(create), create)) }"#;
    assert_eq!(routes_of(source), ["POST /a undeclared app::create"]);
}

#[test]
fn a_method_of_an_extension_trait_is_followed() {
    let source = r#"
        trait Carts { fn carts(self, under: &str) -> Self; }
        impl Carts for Router { fn carts(self, under: &str) -> Self { self.route(under, post(create)) } }
        fn app() -> Router { Router::new().nest("/api", Router::new().carts("/carts")) }"#;
    assert_eq!(routes_of(source), ["POST /api/carts undeclared app::create"]);
}

#[test]
fn what_cannot_be_seen_is_unresolved_and_keeps_its_place() {
    let source = r#"fn app(config: Config) -> Router {
        Router::new()
            .route(&config.path, post(create))
            .route("/any", config.methods())
            .route("/foreign", post(other_crate::create))
            .nest("/plugins", plugins::router())
            .merge(config.router)
            .with_jobs(1)
    }"#;
    assert_eq!(
        routes_of(source),
        [
            "POST <&config.path> unresolved app::create",
            "ANY /any unresolved config.methods()",
            "POST /foreign unresolved other_crate::create",
            "ANY /plugins/* unresolved plugins::router()",
            "ANY * unresolved config.router",
            "ANY * unresolved .with_jobs(..)"
        ]
    );
}

#[test]
fn a_method_router_that_no_route_takes_is_unresolved() {
    assert_eq!(routes_of("fn app() { plugins::mount(post(create)); }"), ["POST * unresolved app::create"]);
}

#[test]
fn a_macro_that_holds_routes_is_unresolved() {
    let source = r#"
        macro_rules! crud { ($r:ident $p:literal) => { $r = $r.route($p, post(create)) } }
        fn app() -> Router { let mut r = Router::new(); crud!(r "/carts"); twice! { r => r.route("/a", post(create)) } r }"#;
    assert_eq!(routes_of(source), ["ANY * unresolved crud!", "ANY * unresolved twice!"]);
}

#[test]
fn routers_that_build_each_other_come_to_an_end() {
    let source = r#"
        fn a() -> Router { Router::new().route("/a", post(create)).nest("/b", b()) }
        fn b() -> Router { Router::new().route("/b", post(create)).nest("/a", a()) }"#;
    assert_eq!(
        routes_of(source),
        ["POST /a undeclared app::create", "POST /b/b undeclared app::create", "ANY /b/a/* unresolved a()"]
    );
}

#[test]
fn code_for_tests_serves_nobody() {
    let source = r#"
        #[cfg(test)] mod tests { fn app() -> axum::Router { axum::Router::new().route("/t", axum::routing::post(t)) } }
        #[tokio::test] async fn a_test() { Router::new().route("/t", post(create)); }"#;
    assert!(routes_of(source).is_empty());
}

#[test]
fn a_client_that_posts_is_no_route() {
    let source = r#"async fn send() {
        reqwest::Client::new().post("http://x").send().await;
        let request = axum::http::Request::post("/orders").body(());
        ureq::post("http://x").call();
    }"#;
    assert!(routes_of(source).is_empty(), "{:?}", routes_of(source));
}

#[test]
fn a_method_router_in_place_of_a_handler_or_service_takes_its_methods_only() {
    let source = r#"fn app() -> Router {
        Router::new()
            .fallback(get(create).delete(create))
            .nest_service("/files", axum::routing::get_service(files()))
            .route_service("/post", axum::routing::post_service(files()))
    }"#;
    assert_eq!(routes_of(source), ["DELETE * undeclared app::create", "POST /post undeclared files()"]);
}
