//! The attributes of idem; users reach them through `idem-runtime`.
//!
//! `#[idempotent]`: `args` and `function` parse, `check` makes a model of them and finds every mistake, `handler`
//! and `service` expand the model and cannot fail. `plain` is `#[exempt]` and `#[read_only]`, which leave the
//! function as it is, `block` is `#[service]`, which only looks, and `outbox_handler` is `#[outbox_handler]`.

mod args;
mod block;
mod check;
mod diag;
mod duration;
mod exempt;
mod function;
#[cfg(fuzzing)]
pub mod fuzz;
#[cfg(all(test, not(fuzzing)))]
#[expect(unreachable_pub, reason = "`cargo fuzz` calls it from outside")]
mod fuzz;
mod handler;
mod ignorable;
mod model;
mod options;
mod outbox_handler;
mod plain;
mod promise;
mod read_only;
mod registration;
mod runtime;
mod service;
mod stance;
#[cfg(test)]
mod tests;
mod written;

// `cargo fuzz` compiles this crate as an ordinary library.
#[cfg(not(fuzzing))]
use proc_macro::TokenStream;

/// Makes a handler or a service function run once per tenant, user, route and idempotency key.
///
/// Use it through `idem_runtime::idempotent`; the options are described there.
#[cfg(not(fuzzing))]
#[proc_macro_attribute]
pub fn idempotent(args: TokenStream, item: TokenStream) -> TokenStream {
    expand(&args.into(), &item.into()).into()
}

/// Registers a function that the outbox calls for each event of a type, with one effect per event.
///
/// Use it through `idem_runtime::outbox_handler`; the options are described there.
#[cfg(not(fuzzing))]
#[proc_macro_attribute]
pub fn outbox_handler(args: TokenStream, item: TokenStream) -> TokenStream {
    outbox_handler::expand(&args.into(), &item.into()).into()
}

/// Declares that a retry may run a function again, and why.
///
/// Use it through `idem_runtime::exempt`; the options are described there.
#[cfg(not(fuzzing))]
#[proc_macro_attribute]
pub fn exempt(args: TokenStream, item: TokenStream) -> TokenStream {
    plain::expand(stance::Stance::Exempt, &args.into(), &item.into()).into()
}

/// Declares that a function does not write.
///
/// Use it through `idem_runtime::read_only`.
#[cfg(not(fuzzing))]
#[proc_macro_attribute]
pub fn read_only(args: TokenStream, item: TokenStream) -> TokenStream {
    plain::expand(stance::Stance::ReadOnly, &args.into(), &item.into()).into()
}

/// Refuses functions of an `impl` block, a trait or a module that have no stance.
///
/// Use it through `idem_runtime::service`; the rules are described there.
#[cfg(not(fuzzing))]
#[proc_macro_attribute]
pub fn service(args: TokenStream, item: TokenStream) -> TokenStream {
    block::expand(&args.into(), &item.into()).into()
}

fn expand(args: &proc_macro2::TokenStream, item: &proc_macro2::TokenStream) -> proc_macro2::TokenStream {
    if args.is_empty()
        && let Some(promise) = promise::expand(item)
    {
        return promise;
    }
    let mut errors = diag::Errors::default();
    let checked = args::Args::parse(args, &mut errors);
    let checked = function::Function::parse(item.clone(), &mut errors)
        .and_then(|function| check::check(checked, function, &mut errors));
    match (checked, errors.into_tokens()) {
        (Some(model), None) if model.is_handler() => handler::expand(&model),
        (Some(model), None) => service::expand(&model),
        // The item is given back as it was, so that an editor still completes inside it.
        (_, errors) => {
            let item = function::given_back(item);
            quote::quote!(#item #errors)
        }
    }
}
