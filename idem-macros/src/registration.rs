//! The statement by which a function's stance is found in the finished program.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, LitStr};

use crate::runtime::private;
use crate::stance::Stance;
use crate::written::Written;

/// An item, so that it registers when the program is linked, whether or not the function is ever called.
pub(crate) fn registration(
    stance: Stance,
    route: Option<&LitStr>,
    function: &Ident,
    options: &[Written],
) -> TokenStream {
    let idem = private();
    let kind = match stance {
        Stance::Idempotent | Stance::OutboxHandler => format_ident!("Idempotent"),
        Stance::Exempt => format_ident!("Exempt"),
        Stance::ReadOnly => format_ident!("ReadOnly"),
    };
    let route = match route {
        Some(route) => quote!(::core::option::Option::Some(#route)),
        None => quote!(::core::option::Option::None),
    };
    let function = function.to_string();
    let options = options.iter().map(|Written { name, value }| quote!((#name, #value)));
    quote!(#idem::register!(#kind, #route, #function, [#(#options),*]);)
}
