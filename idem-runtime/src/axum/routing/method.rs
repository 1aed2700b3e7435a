//! The methods of one path: writing ones take declared handlers, reading ones take any.

use std::convert::Infallible;

use axum::error_handling::HandleError;
use axum::extract::Request;
use axum::handler::Handler;
use axum::response::IntoResponse;
use axum::routing;
use axum::routing::{MethodFilter, Route};
use tower_layer::Layer;
use tower_service::Service;

use crate::axum::routing::DeclaresStance;
use crate::axum::routing::declared::Declared;

/// The handlers of one path, one per method: axum's own, filled only with declared writes.
///
/// ```
/// use idem_runtime::axum::{MethodRouter, exempt, get};
///
/// async fn list() -> &'static str { "[]" }
/// async fn login() -> &'static str { "welcome" }
///
/// let sessions: MethodRouter = get(list).post(exempt("a login may be repeated", login));
/// ```
#[derive(Debug, Clone)]
#[must_use = "the handlers of a path do nothing until they are routed"]
pub struct MethodRouter<S = (), E = Infallible>(pub(super) routing::MethodRouter<S, E>);

macro_rules! writing {
    ($($method:ident $name:literal),+) => {
        $(
            #[doc = concat!("Routes ", $name, " requests to a handler that has declared its stance.")]
            pub fn $method<H, T, S>(handler: H) -> MethodRouter<S>
            where
                H: Handler<T, S>,
                T: DeclaresStance + 'static,
                S: Clone + Send + Sync + 'static,
            {
                MethodRouter(routing::$method(Declared(handler)))
            }
        )+

        impl<S: Clone + Send + Sync + 'static> MethodRouter<S> {
            $(
                #[doc = concat!("Adds a declared handler for ", $name, " requests.")]
                ///
                /// # Panics
                ///
                /// As axum does, when the method is taken.
                #[track_caller]
                pub fn $method<H, T>(self, handler: H) -> Self
                where
                    H: Handler<T, S>,
                    T: DeclaresStance + 'static,
                {
                    Self(self.0.$method(Declared(handler)))
                }
            )+
        }
    };
}

macro_rules! reading {
    ($($method:ident $name:literal),+) => {
        $(
            #[doc = concat!("Routes ", $name, " requests to any handler: this method does not write.")]
            pub fn $method<H, T, S>(handler: H) -> MethodRouter<S>
            where
                H: Handler<T, S>,
                T: 'static,
                S: Clone + Send + Sync + 'static,
            {
                MethodRouter(routing::$method(handler))
            }
        )+

        impl<S: Clone + Send + Sync + 'static> MethodRouter<S> {
            $(
                #[doc = concat!("Adds any handler for ", $name, " requests.")]
                ///
                /// # Panics
                ///
                /// As axum does, when the method is taken.
                #[track_caller]
                pub fn $method<H, T>(self, handler: H) -> Self
                where
                    H: Handler<T, S>,
                    T: 'static,
                {
                    Self(self.0.$method(handler))
                }
            )+
        }
    };
}

writing!(post "POST", put "PUT", patch "PATCH", delete "DELETE");
reading!(get "GET", head "HEAD", options "OPTIONS", trace "TRACE", connect "CONNECT");

/// Routes the methods of `filter` to a declared handler.
///
/// The compiler does not know which methods a filter names, so a filter of reading ones takes
/// [`read_only`](super::read_only) too.
///
/// ```
/// use idem_runtime::axum::{MethodFilter, Router, exempt, on};
///
/// async fn ping() -> &'static str { "pong" }
///
/// let methods = MethodFilter::PUT.or(MethodFilter::POST);
/// let app: Router = Router::new().route("/ping", on(methods, exempt("a ping changes nothing", ping)));
/// ```
pub fn on<H, T, S>(filter: MethodFilter, handler: H) -> MethodRouter<S>
where
    H: Handler<T, S>,
    T: DeclaresStance + 'static,
    S: Clone + Send + Sync + 'static,
{
    MethodRouter(routing::on(filter, Declared(handler)))
}

/// Routes every method to a declared handler; the writing ones are among them.
pub fn any<H, T, S>(handler: H) -> MethodRouter<S>
where
    H: Handler<T, S>,
    T: DeclaresStance + 'static,
    S: Clone + Send + Sync + 'static,
{
    MethodRouter(routing::any(Declared(handler)))
}

/// Routes GET requests to a service, for files for instance: this method does not write.
pub fn get_service<V, S>(service: V) -> MethodRouter<S, V::Error>
where
    V: Service<Request> + Clone + Send + Sync + 'static,
    V::Response: IntoResponse + 'static,
    V::Future: Send + 'static,
    S: Clone,
{
    MethodRouter(routing::get_service(service))
}

impl<S: Clone + Send + Sync + 'static> MethodRouter<S> {
    /// Adds a declared handler for the methods of `filter`.
    ///
    /// # Panics
    ///
    /// As axum does, when one of the methods is taken.
    #[track_caller]
    pub fn on<H, T>(self, filter: MethodFilter, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: DeclaresStance + 'static,
    {
        Self(self.0.on(filter, Declared(handler)))
    }

    /// Answers the methods that have no handler here; writing ones arrive too, so it declares its stance.
    pub fn fallback<H, T>(self, handler: H) -> Self
    where
        H: Handler<T, S>,
        T: DeclaresStance + 'static,
    {
        Self(self.0.fallback(Declared(handler)))
    }
}

impl<S: Clone, E> Default for MethodRouter<S, E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Clone, E> MethodRouter<S, E> {
    /// No handlers: every method is answered 405.
    pub fn new() -> Self {
        Self(routing::MethodRouter::new())
    }

    /// Takes over the handlers of another one.
    ///
    /// # Panics
    ///
    /// As axum does, when both have a handler for a method, or both a fallback.
    #[track_caller]
    pub fn merge(self, other: Self) -> Self {
        Self(self.0.merge(other.0))
    }

    /// Gives the state to all handlers.
    pub fn with_state<S2>(self, state: S) -> MethodRouter<S2, E> {
        MethodRouter(self.0.with_state(state))
    }

    /// The handlers as axum and its companions take them: every write among them has declared its stance.
    pub fn into_axum(self) -> routing::MethodRouter<S, E> {
        self.0
    }
}

impl<S: Clone + 'static, E: 'static> MethodRouter<S, E> {
    /// Applies a tower layer to all methods of this path, its fallback included.
    pub fn layer<L, E2>(self, layer: L) -> MethodRouter<S, E2>
    where
        L: Layer<Route<E>> + Clone + Send + Sync + 'static,
        L::Service: Service<Request> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Response: IntoResponse + 'static,
        <L::Service as Service<Request>>::Error: Into<E2> + 'static,
        <L::Service as Service<Request>>::Future: Send + 'static,
        E2: 'static,
    {
        MethodRouter(self.0.layer(layer))
    }

    /// Applies a tower layer to the methods that have a handler, and not to the fallback.
    ///
    /// # Panics
    ///
    /// As axum does, when there is no handler yet.
    #[track_caller]
    pub fn route_layer<L>(self, layer: L) -> Self
    where
        L: Layer<Route<E>> + Clone + Send + Sync + 'static,
        L::Service: Service<Request, Error = E> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Response: IntoResponse + 'static,
        <L::Service as Service<Request>>::Future: Send + 'static,
    {
        Self(self.0.route_layer(layer))
    }

    /// Turns the errors of layers and services into responses, so that the path can be routed.
    pub fn handle_error<F, T>(self, handle: F) -> MethodRouter<S>
    where
        F: Clone + Send + Sync + 'static,
        HandleError<Route<E>, F, T>: Service<Request, Error = Infallible>,
        <HandleError<Route<E>, F, T> as Service<Request>>::Future: Send,
        <HandleError<Route<E>, F, T> as Service<Request>>::Response: IntoResponse + Send,
        T: 'static,
    {
        MethodRouter(self.0.handle_error(handle))
    }
}
