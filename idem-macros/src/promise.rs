//! `#[idempotent]` on a function of a trait that has no body: its implementations are guarded.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{FnArg, Signature};

use crate::diag::Errors;
use crate::function::{Parts, is_request_by_reference};
use crate::read_only::mentions_mutation;
use crate::stance::Stance;

/// The function as it was, with what is wrong; `None` when it has a body.
pub(crate) fn expand(item: &TokenStream) -> Option<TokenStream> {
    let Parts { attrs, sig, body: None, .. } = Parts::of(item)? else { return None };
    let mut errors = Errors::default();
    Stance::Idempotent.check_alone(&attrs, &mut errors);
    check(&sig, &mut errors);
    let errors = errors.into_tokens();
    Some(quote!(#item #errors))
}

/// An implementation that is guarded would not fit another signature.
fn check(sig: &Signature, errors: &mut Errors) {
    let mut parameters = sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(parameter) => Some(parameter),
        FnArg::Receiver(_) => None,
    });
    let message = "callers of a guarded function say whose request it is: write `idem: &Idempotency` first";
    match parameters.next() {
        None => errors.at(&sig.ident, message),
        Some(first) if !is_request_by_reference(&first.ty) => errors.at(&first.ty, message),
        Some(_) => {}
    }
    for parameter in parameters.filter(|parameter| mentions_mutation(&parameter.ty)) {
        errors.at(&parameter.ty, "callers pass no transaction: take `mutation` in the `impl` block alone");
    }
}
