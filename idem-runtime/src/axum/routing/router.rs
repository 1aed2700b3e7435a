//! axum's router, filled only with declared writes.

use std::convert::Infallible;

use axum::extract::Request;
use axum::extract::connect_info::IntoMakeServiceWithConnectInfo;
use axum::handler::Handler;
use axum::response::IntoResponse;
use axum::routing::{IntoMakeService, Route};
use tower_layer::Layer;
use tower_service::Service;

use crate::axum::routing::DeclaresStance;
use crate::axum::routing::checked::{CheckedMethods, CheckedRouter};
use crate::axum::routing::declared::Declared;

/// A router on which no undeclared write can be mounted.
///
/// ```
/// use idem_runtime::axum::{Router, exempt, get, post};
///
/// async fn list() -> &'static str { "[]" }
/// async fn login() -> &'static str { "welcome" }
///
/// let app: Router = Router::new()
///     .route("/orders", get(list))
///     .route("/login", post(exempt("a login may be repeated", login)));
/// let service = app.into_axum();
/// ```
///
/// A handler without a stance does not compile:
///
/// ```compile_fail
/// use idem_runtime::axum::{Router, post};
///
/// async fn create_cart() -> &'static str { "created" }
///
/// let app: Router = Router::new().route("/carts", post(create_cart));
/// ```
#[derive(Debug, Clone)]
#[must_use = "a router does nothing until it is served"]
pub struct Router<S = ()>(pub(super) axum::Router<S>);

impl<S: Clone + Send + Sync + 'static> Default for Router<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Clone + Send + Sync + 'static> Router<S> {
    /// A router without routes.
    pub fn new() -> Self {
        Self(axum::Router::new())
    }

    /// Mounts the handlers of one path, a [`MethodRouter`](super::MethodRouter).
    ///
    /// # Panics
    ///
    /// As axum does, when the path is malformed or taken.
    #[track_caller]
    pub fn route(self, path: &str, methods: impl CheckedMethods<S>) -> Self {
        Self(self.0.route(path, methods.checked()))
    }

    /// Mounts another router under a path.
    ///
    /// # Panics
    ///
    /// As axum does, when the path is malformed, empty or taken.
    #[track_caller]
    pub fn nest(self, path: &str, router: impl CheckedRouter<S>) -> Self {
        Self(self.0.nest(path, router.checked()))
    }

    /// Takes over the routes of another router.
    ///
    /// # Panics
    ///
    /// As axum does, when a path is taken, or both have a fallback.
    #[track_caller]
    pub fn merge(self, router: impl CheckedRouter<S>) -> Self {
        Self(self.0.merge(router.checked()))
    }

    /// Answers what no route takes; any method can arrive here, so it declares its stance too.
    pub fn fallback<H, T>(self, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: DeclaresStance + 'static,
    {
        Self(self.0.fallback(Declared(handler)))
    }

    /// Answers at every path the methods that have no handler there; it declares its stance too.
    pub fn method_not_allowed_fallback<H, T>(self, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: DeclaresStance + 'static,
    {
        Self(self.0.method_not_allowed_fallback(Declared(handler)))
    }

    /// Takes the fallback away again, so that a router with another one can be merged.
    pub fn reset_fallback(self) -> Self {
        Self(self.0.reset_fallback())
    }

    /// Whether a path has been mounted.
    #[must_use]
    pub fn has_routes(&self) -> bool {
        self.0.has_routes()
    }

    /// Applies a tower layer to all routes and the fallback that are there by now.
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<Route> + Clone + Send + Sync + 'static,
        L::Service: Service<Request> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Response: IntoResponse + 'static,
        <L::Service as Service<Request>>::Error: Into<Infallible> + 'static,
        <L::Service as Service<Request>>::Future: Send + 'static,
    {
        Self(self.0.layer(layer))
    }

    /// Applies a tower layer to the routes that are there by now, and not to the fallback.
    ///
    /// # Panics
    ///
    /// As axum does, when there is no route yet.
    #[track_caller]
    pub fn route_layer<L>(self, layer: L) -> Self
    where
        L: Layer<Route> + Clone + Send + Sync + 'static,
        L::Service: Service<Request> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Response: IntoResponse + 'static,
        <L::Service as Service<Request>>::Error: Into<Infallible> + 'static,
        <L::Service as Service<Request>>::Future: Send + 'static,
    {
        Self(self.0.route_layer(layer))
    }

    /// Gives the state to all routes.
    pub fn with_state<S2>(self, state: S) -> Router<S2> {
        Router(self.0.with_state(state))
    }

    /// The router as axum serves it: every write in it has declared its stance.
    pub fn into_axum(self) -> axum::Router<S> {
        self.0
    }
}

impl Router {
    /// What `axum::serve` takes.
    #[must_use]
    pub fn into_make_service(self) -> IntoMakeService<axum::Router> {
        self.0.into_make_service()
    }
    /// What `axum::serve` takes, with the address of the client for [`ConnectInfo`](axum::extract::ConnectInfo).
    ///
    /// `C` is `std::net::SocketAddr` behind a TCP listener.
    #[must_use]
    pub fn into_make_service_with_connect_info<C>(self) -> IntoMakeServiceWithConnectInfo<axum::Router, C> {
        self.0.into_make_service_with_connect_info()
    }
}
