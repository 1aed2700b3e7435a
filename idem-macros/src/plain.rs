//! `#[exempt]` and `#[read_only]`: the function stays as it is, and one statement makes its stance known.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::quote;

use crate::diag::Errors;
use crate::function::{Parts, first_word};
use crate::registration::registration;
use crate::stance::Stance;
use crate::written::written;
use crate::{exempt, read_only};

/// The function with its stance registered, or as it was with what is wrong.
pub(crate) fn expand(stance: Stance, args: &TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let parts = parse(stance, args, item, &mut errors);
    match (parts, errors.into_tokens()) {
        (Some(Parts { attrs, vis, sig, body: Some(body) }), None) => {
            let registered = registration(stance, None, &sig.ident, &written(args));
            let body = begin_with(&registered, &body);
            quote!(#(#attrs)* #vis #sig #body)
        }
        (_, errors) => quote!(#item #errors),
    }
}

fn parse(stance: Stance, args: &TokenStream, item: &TokenStream, errors: &mut Errors) -> Option<Parts> {
    let name = stance.name();
    let Some(parts) = Parts::of(item) else {
        errors.at(
            first_word(item.clone()),
            format_args!("`#[{name}]` goes on a function: write it above `async fn name(...) {{ ... }}`"),
        );
        return None;
    };
    stance.check_alone(&parts.attrs, errors);
    if let Some(constness) = &parts.sig.constness {
        errors
            .at(constness, format_args!("a `const` function has no effects to declare: remove `#[{name}]`"));
    }
    match stance {
        Stance::Exempt => exempt::check(args, errors),
        Stance::ReadOnly => read_only::check(args, &parts.sig, errors),
        Stance::Idempotent | Stance::OutboxHandler => {}
    }
    Some(parts)
}

/// The body with a statement before all others, but after `#![...]`, which must come first.
fn begin_with(statement: &TokenStream, body: &Group) -> Group {
    let mut rest: Vec<TokenTree> = body.stream().into_iter().collect();
    let mut inner = 0;
    while let Some([TokenTree::Punct(hash), TokenTree::Punct(bang), TokenTree::Group(_)]) =
        rest.get(inner..inner + 3)
        && hash.as_char() == '#'
        && bang.as_char() == '!'
    {
        inner += 3;
    }
    let statements = rest.split_off(inner);
    let mut group = Group::new(body.delimiter(), quote!(#(#rest)* #statement #(#statements)*));
    group.set_span(body.span());
    group
}
