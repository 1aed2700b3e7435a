//! The check that `fingerprint(ignore(...))` can have an effect on the body that a handler takes.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::model::Model;
use crate::runtime::{ours_at, private_at};

/// Stops the compiler where members are to be ignored of a body that is compared byte by byte.
pub(crate) fn ignorable(model: &Model, idem: &TokenStream) -> TokenStream {
    let (Some(pointer), Some(last)) = (model.ignore.first(), model.function.arguments.last()) else {
        return TokenStream::new();
    };
    let ty = &last.ty;
    let at = ours_at(pointer.span());
    let of = private_at(at);
    let check = quote_spanned!(at=> #of::compares_members(!<#of::ReadsBytes<#ty>>::RAW));
    let probe = quote!(#[allow(unused_imports)] use #idem::ReadsSomethingElse as _;);
    // The type may name a parameter of the function, which an item of its own could not see.
    if model.function.sig.generics.params.is_empty() {
        quote!(const _: () = { #probe #check };)
    } else {
        quote!(const { #probe #check };)
    }
}
