//! What generated code calls. Nothing here is stable, and nobody else may use it.

pub use std::sync::LazyLock;

#[cfg(feature = "axum")]
pub use axum::response::{IntoResponse, Response};

pub use crate::__is_err as is_err;
#[cfg(feature = "axum")]
pub use crate::axum::extract::{Guarded, NoBody, Received};
#[cfg(feature = "axum")]
pub use crate::axum::handler::{Declared, HandlerVerdict, Returned, judge, run, run_external};
pub use crate::guard::{Success, Verdict, inside};
pub use crate::policy::Policy;
pub use crate::record::Bindings;

mod arguments;
mod bind;
mod declare;
mod probe;

pub use arguments::Arguments;
pub use bind::Bindable;
#[cfg(feature = "axum")]
pub use bind::{Carries, carried};
#[cfg(feature = "axum")]
pub use declare::key_of;
pub use declare::{IsIdempotency, PolicySpec, fingerprint_of, operation, policy};
pub use probe::{IsErr, IsNotErr, Probe};
