//! Routes on which every writing handler has declared its stance, or does not compile.

mod checked;
mod declared;
mod marker;
mod method;
pub(crate) mod reason;
mod router;
mod unchecked;
mod wrapper;

pub use axum::routing::MethodFilter;
pub use checked::{CheckedMethods, CheckedRouter};
pub use marker::{DeclaresStance, Delegated};
pub use method::{
    MethodRouter, any, connect, delete, get, get_service, head, on, options, patch, post, put, trace,
};
pub use router::Router;
pub use unchecked::{any_service_unchecked, on_service_unchecked};
pub use wrapper::{Exempt, ReadOnly, exempt, read_only};
