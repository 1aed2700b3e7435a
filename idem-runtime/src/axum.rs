//! The guard in axum: extractor, replayed answers, typed routes.

mod answer;
pub(crate) mod extract;
pub(crate) mod handler;
pub(crate) mod identity;
mod key;
mod problem;
mod routing;
mod state;

pub use extract::ReadsBody;
pub use identity::RouteIdentity;
pub use routing::{
    DeclaresStance, Delegated, Exempt, MethodRouter, ReadOnly, Router, delete, exempt, get, head, options,
    patch, post, put, read_only,
};
pub use state::IdempotencyState;
