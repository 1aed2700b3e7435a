//! `#[outbox_handler]`: the function stays as it is, and an item beside it registers it for its events.

mod args;
mod check;
mod expansion;
mod signature;

use proc_macro2::TokenStream;

use crate::diag::Errors;
use crate::function::{Parts, first_word};

/// The function with its registration, or as it was with what is wrong.
pub(crate) fn expand(args: &TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let model = model(args, item, &mut errors);
    match (model, errors.into_tokens()) {
        (Some(model), None) => {
            let registration = expansion::registration(&model);
            quote::quote!(#item #registration)
        }
        (_, errors) => quote::quote!(#item #errors),
    }
}

fn model(args: &TokenStream, item: &TokenStream, errors: &mut Errors) -> Option<check::Model> {
    let args = args::Args::parse(args, errors);
    let Some(parts) = Parts::of(item).filter(|parts| parts.body.is_some()) else {
        errors.at(
            first_word(item.clone()),
            "`#[outbox_handler]` goes on a function: write it above `async fn name(delivery: &Delivery<Payload>, \
             mutation: &mut Mutation) -> Result<(), Error> { ... }`",
        );
        return None;
    };
    let signature = signature::Signature::read(&parts, errors);
    check::check(args, signature, errors)
}
