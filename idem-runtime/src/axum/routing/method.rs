//! The methods of one path: writing ones take declared handlers, reading ones take any.

use std::convert::Infallible;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::IntoResponse;
use axum::routing;
use axum::routing::Route;
use tower_layer::Layer;
use tower_service::Service;

use crate::axum::routing::DeclaresStance;
use crate::axum::routing::declared::Declared;

/// The handlers of one path, one per method: axum's own, filled only with declared writes.
#[derive(Debug, Clone)]
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
                #[must_use]
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
                #[must_use]
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
reading!(get "GET", head "HEAD", options "OPTIONS");

impl<S: Clone + 'static> MethodRouter<S> {
    /// Applies a tower layer to all methods of this path.
    #[must_use]
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<Route> + Clone + Send + Sync + 'static,
        L::Service: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Response: IntoResponse + 'static,
        <L::Service as Service<Request>>::Future: Send + 'static,
    {
        Self(self.0.layer(layer))
    }
}
