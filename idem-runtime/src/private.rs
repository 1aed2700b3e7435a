//! What generated code calls. Nothing here is stable, and nobody else may use it.

pub use std::sync::LazyLock;

#[cfg(feature = "axum")]
pub use axum::response::{IntoResponse, Response};

pub use inventory;

pub use crate::__is_err as is_err;
pub use crate::__register as register;
#[cfg(feature = "axum")]
pub use crate::axum::extract::{Guarded, NoBody, Received};
#[cfg(feature = "axum")]
pub use crate::axum::handler::{Declared, HandlerVerdict, Returned, judge, run, run_external};
#[cfg(feature = "axum")]
pub use crate::axum::routing::reason::check_reason;
pub use crate::guard::{Success, Verdict, inside};
pub use crate::outbox::{
    HandlerEntry, HasStore, Spec as HandlerSpec, external as external_handler,
    transactional as transactional_handler,
};
pub use crate::policy::{OnLapse, Policy};
pub use crate::record::Bindings;

mod arguments;
mod bind;
mod declare;
#[cfg(feature = "axum")]
mod ignorable;
mod probe;

pub use arguments::Arguments;
pub use bind::Bindable;
#[cfg(feature = "axum")]
pub use bind::{Carries, carried};
#[cfg(feature = "axum")]
pub use declare::key_of;
pub use declare::{IsIdempotency, PolicySpec, Recovered, fingerprint_of, operation, policy};
#[cfg(feature = "axum")]
pub use ignorable::{ReadsBytes, ReadsSomethingElse, compares_members};
pub use probe::{IsErr, IsNotErr, Probe, is_released};
