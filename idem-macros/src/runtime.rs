//! The path of the runtime crate, under whatever name the user's manifest gives it.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::Ident;

/// `::idem_runtime::__private`, or the same under another name.
pub(crate) fn private() -> TokenStream {
    private_at(Span::call_site())
}

/// The same with every token at `at`, so that a message about the whole expression stands there and nowhere else.
pub(crate) fn private_at(at: Span) -> TokenStream {
    let name = match crate_name("idem-runtime") {
        Ok(FoundCrate::Name(name)) => name,
        // Its own tests and examples see it by its name; without a manifest the name is the best guess.
        Ok(FoundCrate::Itself) | Err(_) => "idem_runtime".to_owned(),
    };
    let name = Ident::new(&name, at);
    quote_spanned!(at=> ::#name::__private)
}

/// The place of the user's token, for code that is ours: lints of the user's leave it alone.
pub(crate) fn ours_at(place: Span) -> Span {
    Span::call_site().located_at(place)
}
