//! The guard in axum: extractor, replayed answers, typed routes.

mod answer;
pub(crate) mod extract;
#[cfg(all(any(test, fuzzing), feature = "sqlite"))]
pub mod fuzz;
pub(crate) mod handler;
pub(crate) mod identity;
mod key;
mod problem;
pub(crate) mod routing;
mod state;

#[doc(inline)]
pub use crate::__reason as reason;
pub use extract::ReadsBody;
pub use identity::RouteIdentity;
pub use routing::{
    CheckedMethods, CheckedRouter, DeclaresStance, Delegated, Exempt, MethodFilter, MethodRouter, ReadOnly,
    Router, any, any_service_unchecked, connect, delete, exempt, get, get_service, head, on,
    on_service_unchecked, options, patch, post, put, read_only, trace,
};
pub use state::IdempotencyState;
