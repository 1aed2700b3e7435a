//! The path of the runtime crate, under whatever name the user's manifest gives it.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;

/// `::idem_runtime::__private`, or the same under another name.
pub(crate) fn private() -> TokenStream {
    let name = match crate_name("idem-runtime") {
        Ok(FoundCrate::Name(name)) => name,
        // Its own tests and examples see it by its name; without a manifest the name is the best guess.
        Ok(FoundCrate::Itself) | Err(_) => "idem_runtime".to_owned(),
    };
    let name = Ident::new(&name, Span::call_site());
    quote!(::#name::__private)
}
