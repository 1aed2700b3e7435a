//! Fuzz target: any tokens at all as the options of an attribute and as the item below it.
//!
//! Compiled for tests and for `cargo fuzz` alone.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote;

use crate::function::Parts;
use crate::stance::Stance;
use crate::{block, outbox_handler, plain};

/// The first line names the attribute, the second has its options, and what follows is the item.
///
/// # Panics
///
/// When the attribute panics, gives an error without a place in the user's text, loses the item, or turns a whole
/// function into something that is not Rust.
pub fn attribute(input: &[u8]) {
    // Tokens keep the text that they were read from; those of the last input are not looked at any more.
    proc_macro2::extra::invalidate_current_thread_spans();
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut parts = text.splitn(3, '\n');
    let (Some(name), Some(args), Some(item)) = (parts.next(), parts.next(), parts.next()) else { return };
    let (Ok(args), Ok(item)) = (args.parse(), item.parse()) else { return };
    if text.contains("compile_error") {
        return;
    }
    let Some(expanded) = expand(name, &args, &item) else { return };
    let messages = messages(expanded.clone());
    for (span, message) in &messages {
        assert!(message.len() > 10, "an error says what is wrong: {message}");
        // Under libFuzzer tokens have no places; the tests look at them.
        let in_the_text = cfg!(fuzzing) || !span.byte_range().is_empty();
        // What is missing has no place but the attribute itself.
        let missing = message.contains("missing") || args.is_empty() || item.is_empty();
        assert!(in_the_text || missing, "an error without a place: {message}\n{text}");
    }
    if let Some(Parts { sig, .. }) = Parts::of(&item) {
        let name = sig.ident.to_string();
        assert!(words(expanded.clone()).contains(&name), "`{name}` is lost:\n{text}");
    }
    let whole =
        syn::parse2::<syn::ItemFn>(item.clone()).is_ok() || syn::parse2::<syn::ImplItemFn>(item).is_ok();
    if messages.is_empty() && whole {
        let free = syn::parse2::<syn::File>(expanded.clone()).is_ok();
        let in_a_block = || syn::parse2::<syn::ItemImpl>(quote!(impl It { #expanded })).is_ok();
        assert!(free || in_a_block(), "this is not Rust: {expanded}\nfrom {text}");
    }
}

fn expand(name: &str, args: &TokenStream, item: &TokenStream) -> Option<TokenStream> {
    Some(match name.trim() {
        "idempotent" => crate::expand(args, item),
        "outbox_handler" => outbox_handler::expand(args, item),
        "exempt" => plain::expand(Stance::Exempt, args, item),
        "read_only" => plain::expand(Stance::ReadOnly, args, item),
        "service" => block::expand(args, item),
        _ => return None,
    })
}

/// The errors in the code, each with the place to which the compiler points.
fn messages(code: TokenStream) -> Vec<(Span, String)> {
    let mut found = Vec::new();
    let mut in_error = false;
    for token in code {
        match token {
            TokenTree::Ident(word) if word == "compile_error" => in_error = true,
            TokenTree::Group(group) if in_error => {
                in_error = false;
                found.extend(group.stream().into_iter().map(|text| (text.span(), text.to_string())));
            }
            TokenTree::Group(group) => found.extend(messages(group.stream())),
            _ => {}
        }
    }
    found
}

fn words(code: TokenStream) -> Vec<String> {
    let of = |token| match token {
        TokenTree::Group(group) => words(group.stream()),
        TokenTree::Ident(word) => vec![word.to_string()],
        _ => Vec::new(),
    };
    code.into_iter().flat_map(of).collect()
}

#[cfg(test)]
#[path = "../../fuzz/bounded.rs"]
mod bounded;

#[cfg(test)]
mod tests {
    #[test]
    fn no_tokens_make_an_attribute_panic_and_each_error_has_its_place() {
        super::bounded::run("attribute", super::attribute);
    }
}
