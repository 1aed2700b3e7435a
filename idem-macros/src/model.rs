//! What is expanded: every question is answered, nothing can fail any more.

use proc_macro2::TokenStream;
use syn::{Expr, Ident, LitInt, LitStr};

use crate::args::{Bind, Key, OnLapse, ReleaseOn};
use crate::duration::Duration;
use crate::function::{Function, Kind};
use crate::registration::registration;
use crate::stance::Stance;
use crate::written::Written;

/// A checked attribute on a checked function.
pub(crate) struct Model {
    pub(crate) function: Function,
    pub(crate) route: LitStr,
    pub(crate) retry_failed: bool,
    pub(crate) on_lapse: OnLapse,
    pub(crate) ttl: Option<u64>,
    pub(crate) lease: Option<u64>,
    pub(crate) wait: Option<u64>,
    pub(crate) max_run: Option<u64>,
    pub(crate) key: Key,
    pub(crate) bind: Option<Bind>,
    pub(crate) ignore: Vec<LitStr>,
    pub(crate) skip: Vec<Ident>,
    pub(crate) fingerprint: Option<Expr>,
    pub(crate) headers: Vec<LitStr>,
    pub(crate) release_on: Option<ReleaseOn>,
    pub(crate) status: Option<LitInt>,
    pub(crate) record_failures: bool,
    /// Whether the body gets its steps alone.
    pub(crate) steps: bool,
    /// The options besides the route, as they were written.
    pub(crate) written: Vec<Written>,
}

impl Model {
    pub(crate) fn is_handler(&self) -> bool {
        matches!(self.function.kind, Kind::Handler)
    }

    /// The statement that makes the stance known.
    pub(crate) fn registration(&self) -> TokenStream {
        registration(Stance::Idempotent, Some(&self.route), &self.function.sig.ident, &self.written)
    }
}

/// The milliseconds of an option that was given.
pub(crate) fn millis(option: Option<&Duration>) -> Option<u64> {
    option.map(|duration| duration.millis)
}
