//! The attributes of idem; users reach them through `idem-runtime`.
//!
//! Stages: `args` and `function` parse, `check` makes a model of them and finds every mistake, `handler` and
//! `service` expand the model and cannot fail.

mod args;
mod check;
mod diag;
mod duration;
mod function;
mod handler;
mod ignorable;
mod model;
mod runtime;
mod service;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a handler or a service function run once per tenant, user, route and idempotency key.
///
/// Use it through `idem_runtime::idempotent`; the options are described there.
#[proc_macro_attribute]
pub fn idempotent(args: TokenStream, item: TokenStream) -> TokenStream {
    expand(args.into(), &item.into()).into()
}

fn expand(args: proc_macro2::TokenStream, item: &proc_macro2::TokenStream) -> proc_macro2::TokenStream {
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
