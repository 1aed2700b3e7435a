//! The ways around the check, under names at which a reviewer stops.
//!
//! What is mounted here is axum's own: nobody has declared what a retry of it does.

use std::convert::Infallible;

use axum::extract::Request;
use axum::response::IntoResponse;
use axum::routing;
use axum::routing::MethodFilter;
use tower_service::Service;

use crate::axum::routing::{MethodRouter, Router};

/// Routes the methods of `filter` to a service that has declared nothing.
pub fn on_service_unchecked<V, S>(filter: MethodFilter, service: V) -> MethodRouter<S, V::Error>
where
    V: Service<Request> + Clone + Send + Sync + 'static,
    V::Response: IntoResponse + 'static,
    V::Future: Send + 'static,
    S: Clone,
{
    MethodRouter(routing::on_service(filter, service))
}

/// Routes every method to a service that has declared nothing.
pub fn any_service_unchecked<V, S>(service: V) -> MethodRouter<S, V::Error>
where
    V: Service<Request> + Clone + Send + Sync + 'static,
    V::Response: IntoResponse + 'static,
    V::Future: Send + 'static,
    S: Clone,
{
    MethodRouter(routing::any_service(service))
}

/// Ways around the check.
impl<S: Clone, E> MethodRouter<S, E> {
    /// Takes over handlers that nobody has checked.
    ///
    /// # Panics
    ///
    /// As axum does, when both have a handler for a method, or both a fallback.
    #[track_caller]
    pub fn merge_unchecked(self, other: routing::MethodRouter<S, E>) -> Self {
        Self(self.0.merge(other))
    }

    /// Adds a service that has declared nothing for the methods of `filter`.
    ///
    /// # Panics
    ///
    /// As axum does, when one of the methods is taken.
    #[track_caller]
    pub fn on_service_unchecked<V>(self, filter: MethodFilter, service: V) -> Self
    where
        V: Service<Request, Error = E> + Clone + Send + Sync + 'static,
        V::Response: IntoResponse + 'static,
        V::Future: Send + 'static,
    {
        Self(self.0.on_service(filter, service))
    }

    /// Answers the methods that have no handler by a service that has declared nothing.
    pub fn fallback_service_unchecked<V>(self, service: V) -> Self
    where
        V: Service<Request, Error = E> + Clone + Send + Sync + 'static,
        V::Response: IntoResponse + 'static,
        V::Future: Send + 'static,
    {
        Self(self.0.fallback_service(service))
    }
}

/// Ways around the check.
impl<S: Clone + Send + Sync + 'static> Router<S> {
    /// Takes over the routes of a router that nobody has checked.
    ///
    /// # Panics
    ///
    /// As axum does, when a path is taken, or both have a fallback.
    #[track_caller]
    pub fn merge_unchecked(self, router: impl Into<routing::Router<S>>) -> Self {
        Self(self.0.merge(router))
    }

    /// Mounts a router that nobody has checked under a path.
    ///
    /// # Panics
    ///
    /// As axum does, when the path is malformed, empty or taken.
    #[track_caller]
    pub fn nest_unchecked(self, path: &str, router: routing::Router<S>) -> Self {
        Self(self.0.nest(path, router))
    }

    /// Mounts a service that has declared nothing under a path and all below it.
    ///
    /// # Panics
    ///
    /// As axum does, when the path is malformed, empty or taken.
    #[track_caller]
    pub fn nest_service_unchecked<V>(self, path: &str, service: V) -> Self
    where
        V: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
        V::Response: IntoResponse,
        V::Future: Send + 'static,
    {
        Self(self.0.nest_service(path, service))
    }

    /// Mounts a service that has declared nothing at one path, for every method.
    ///
    /// # Panics
    ///
    /// As axum does, when the path is malformed or taken.
    #[track_caller]
    pub fn route_service_unchecked<V>(self, path: &str, service: V) -> Self
    where
        V: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
        V::Response: IntoResponse,
        V::Future: Send + 'static,
    {
        Self(self.0.route_service(path, service))
    }

    /// Answers what no route takes by a service that has declared nothing.
    pub fn fallback_service_unchecked<V>(self, service: V) -> Self
    where
        V: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
        V::Response: IntoResponse,
        V::Future: Send + 'static,
    {
        Self(self.0.fallback_service(service))
    }
}
