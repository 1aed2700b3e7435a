//! Routes on which every writing handler has declared its stance, or does not compile.

mod declared;
mod marker;
mod method;
mod router;

pub use marker::{DeclaresStance, Delegated, Exempt, ReadOnly, exempt, read_only};
pub use method::{MethodRouter, delete, get, head, options, patch, post, put};
pub use router::Router;
