//! What a typed router takes, and what is said of axum's own, of which nobody knows what it writes.

use axum::routing;

use crate::axum::routing::{MethodRouter, Router};

/// The methods of a path, each write of them declared.
#[diagnostic::on_unimplemented(
    message = "nobody has checked what these methods write",
    label = "not a `MethodRouter` of `idem_runtime::axum`",
    note = "build it by `idem_runtime::axum::post` instead of `axum::routing::post`",
    note = "or take it unchecked: `MethodRouter::new().merge_unchecked(methods)`"
)]
pub trait CheckedMethods<S> {
    /// The same for axum.
    fn checked(self) -> routing::MethodRouter<S>;
}

impl<S: Clone> CheckedMethods<S> for MethodRouter<S> {
    fn checked(self) -> routing::MethodRouter<S> {
        self.0
    }
}

/// A router, each write of it declared.
#[diagnostic::on_unimplemented(
    message = "nobody has checked what this router writes",
    label = "not a `Router` of `idem_runtime::axum`",
    note = "build it from `idem_runtime::axum::Router` instead of `axum::Router`",
    note = "or take it unchecked: `.merge_unchecked(router)`, `.nest_unchecked(\"/shop\", router)`"
)]
pub trait CheckedRouter<S> {
    /// The same for axum.
    fn checked(self) -> routing::Router<S>;
}

impl<S> CheckedRouter<S> for Router<S> {
    fn checked(self) -> routing::Router<S> {
        self.0
    }
}
