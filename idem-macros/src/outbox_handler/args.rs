//! The grammar of `#[outbox_handler(...)]`: which options there are, and where each was written.

use proc_macro2::TokenStream;
use syn::parse::ParseStream;
use syn::{Ident, LitBool, LitInt, LitStr};

use crate::diag::{Errors, nearest};
use crate::duration::Duration;
use crate::options::{Named, each_option, set, unknown_option, valued};
use crate::written::{Written, written};

const OPTIONS: [&str; 8] =
    ["event", "version", "handler_key", "retry_failed", "ttl", "lease", "max_run", "on_lapse"];

/// What was written between the parentheses.
#[derive(Default)]
pub(super) struct Args {
    pub(super) event: Option<Named<LitStr>>,
    pub(super) version: Option<Named<LitInt>>,
    pub(super) handler_key: Option<Named<LitStr>>,
    pub(super) retry_failed: Option<Named<LitBool>>,
    pub(super) ttl: Option<Named<Duration>>,
    pub(super) lease: Option<Named<Duration>>,
    pub(super) max_run: Option<Named<Duration>>,
    pub(super) on_lapse: Option<Named<LitStr>>,
    /// Everything as it was written, for the registry.
    pub(super) written: Vec<Written>,
    /// Options whose value could not be read; they count as given.
    broken: Vec<String>,
}

impl Args {
    /// Reads as much as can be read; every mistake goes to `errors`.
    pub(super) fn parse(tokens: &TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self { written: written(tokens), ..Self::default() };
        let example = "`event = \"order.created\"`";
        each_option(tokens.clone(), example, errors, |name, input, errors| {
            args.parse_option(name, input, errors).inspect_err(|_| args.broken.push(name.to_string()))
        });
        args
    }

    /// Whether an option was written, however badly.
    pub(super) fn was_given(&self, name: &str) -> bool {
        self.broken.iter().any(|broken| broken == name)
    }

    fn parse_option(&mut self, name: &Ident, input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<()> {
        match name.to_string().as_str() {
            "event" => set(&mut self.event, name, valued(name, input, "\"order.created\"")?, errors),
            "version" => set(&mut self.version, name, valued(name, input, "1")?, errors),
            "handler_key" => set(&mut self.handler_key, name, valued(name, input, "\"send-mail\"")?, errors),
            "retry_failed" => set(&mut self.retry_failed, name, valued(name, input, "true")?, errors),
            "ttl" => set(&mut self.ttl, name, duration(name, input, "\"7d\"")?, errors),
            "lease" => set(&mut self.lease, name, duration(name, input, "\"30s\"")?, errors),
            "max_run" => set(&mut self.max_run, name, duration(name, input, "\"15m\"")?, errors),
            "on_lapse" => set(&mut self.on_lapse, name, valued(name, input, "\"refuse\"")?, errors),
            unknown => {
                // What was meant counts as given, so that it is not said to be missing as well.
                self.broken.extend(nearest(unknown, &OPTIONS).map(str::to_owned));
                unknown_option(name, &OPTIONS, input, errors);
            }
        }
        Ok(())
    }
}

fn duration(name: &Ident, input: ParseStream<'_>, example: &str) -> syn::Result<Duration> {
    Duration::parse(&name.to_string(), valued(name, input, example)?)
}
