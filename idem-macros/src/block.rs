//! `#[service]` on an `impl` block, a trait or an inline module: every function that others call has a stance.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Block, Ident, ImplItem, Item, Meta, ReturnType, Signature, Token, TraitItem, Type,
    TypeParamBound, Visibility,
};

use crate::check::route_for;
use crate::diag::Errors;
use crate::function::first_word;
use crate::stance::Stance;

/// A function without a stance, under the conditions with which it is compiled.
struct Undeclared {
    name: Ident,
    conditions: Vec<TokenStream>,
    has_body: bool,
}

/// The item as it was, and one error at the name of each undeclared function.
pub(crate) fn expand(args: &TokenStream, item: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    if !args.is_empty() {
        errors.at(args, "`#[service]` has no options: write `#[service]`");
    }
    let mut undeclared = Vec::new();
    match syn::parse2(item.clone()) {
        Ok(parsed @ (Item::Impl(_) | Item::Trait(_) | Item::Mod(_))) => find(&parsed, &[], &mut undeclared),
        Ok(_) => errors.at(
            first_word(item.clone()),
            "`#[service]` goes on an `impl` block, a trait or an inline module: \
             write it above `impl Orders { ... }`",
        ),
        Err(error) => errors.add(error),
    }
    let undeclared = undeclared.iter().map(Undeclared::message);
    let errors = errors.into_tokens();
    quote!(#item #(#undeclared)* #errors)
}

impl Undeclared {
    /// An error that is compiled where the function is.
    fn message(&self) -> TokenStream {
        let Self { name, conditions, has_body } = self;
        let word = name.to_string();
        let route = route_for(&word);
        // The options of a function without a body stand where it is implemented.
        let idempotent = if *has_body {
            format!("#[idempotent(route = \"{route}\")]")
        } else {
            "#[idempotent]".to_owned()
        };
        let message = format!(
            "`{word}` does not say what happens when it is called again: write `{idempotent}`, \
             `#[exempt(reason = \"...\")]` or `#[read_only]` above it"
        );
        let error = quote_spanned!(name.span()=> ::core::compile_error! { #message });
        quote!(#(#[cfg(#conditions)])* #error)
    }
}

/// Looks at every function of an item that others can call.
fn find(item: &Item, conditions: &[TokenStream], undeclared: &mut Vec<Undeclared>) {
    let mut look = |attrs: &[Attribute],
                    public: bool,
                    sig: &Signature,
                    block: Option<&Block>,
                    around: &[TokenStream]| {
        if public && is_awaited(sig) {
            undeclared.extend(check(attrs, sig, block.is_some(), around));
        }
    };
    match item {
        Item::Fn(function) => {
            look(&function.attrs, is_public(&function.vis), &function.sig, Some(&function.block), conditions);
        }
        Item::Impl(block) => {
            let conditions = within(conditions, &block.attrs);
            for item in &block.items {
                if let ImplItem::Fn(function) = item {
                    let public = block.trait_.is_some() || is_public(&function.vis);
                    look(&function.attrs, public, &function.sig, Some(&function.block), &conditions);
                }
            }
        }
        Item::Trait(definition) => {
            let conditions = within(conditions, &definition.attrs);
            for item in &definition.items {
                if let TraitItem::Fn(function) = item {
                    look(&function.attrs, true, &function.sig, function.default.as_ref(), &conditions);
                }
            }
        }
        Item::Mod(module) => {
            let conditions = within(conditions, &module.attrs);
            for item in module.content.iter().flat_map(|(_, items)| items) {
                if !speaks_for_itself(item) {
                    find(item, &conditions, undeclared);
                }
            }
        }
        _ => {}
    }
}

fn check(attrs: &[Attribute], sig: &Signature, has_body: bool, around: &[TokenStream]) -> Option<Undeclared> {
    if attrs.iter().any(|attr| Stance::named(attr.path()).is_some()) {
        return None;
    }
    let mut conditions = within(around, attrs);
    let declared: Vec<Meta> = attrs.iter().filter_map(Stance::under_condition).collect();
    if !declared.is_empty() {
        conditions.push(quote!(not(any(#(#declared),*))));
    }
    Some(Undeclared { name: sig.ident.clone(), conditions, has_body })
}

/// The conditions of the place with those of the item: this attribute runs before `cfg` takes anything away.
fn within(around: &[TokenStream], attrs: &[Attribute]) -> Vec<TokenStream> {
    let own = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    let own = own.filter_map(|attr| attr.meta.require_list().ok()).map(|list| list.tokens.clone());
    around.iter().cloned().chain(own).collect()
}

/// Whether an item inside a module is a service of its own, and says itself what is missing.
fn speaks_for_itself(item: &Item) -> bool {
    let attrs = match item {
        Item::Impl(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        _ => return false,
    };
    attrs.iter().any(|attr| attr.path().segments.last().is_some_and(|segment| segment.ident == "service"))
}

fn is_public(vis: &Visibility) -> bool {
    match vis {
        Visibility::Public(_) => true,
        Visibility::Restricted(restricted) => !restricted.path.is_ident("self"),
        Visibility::Inherited => false,
    }
}

/// Whether callers await it: an `async fn`, or one that returns a future.
fn is_awaited(sig: &Signature) -> bool {
    sig.asyncness.is_some() || matches!(&sig.output, ReturnType::Type(_, ty) if is_future(ty))
}

fn is_future(ty: &Type) -> bool {
    match ty {
        Type::ImplTrait(ty) => promises_future(&ty.bounds),
        Type::TraitObject(ty) => promises_future(&ty.bounds),
        Type::Path(ty) if ends_in(&ty.path, &["BoxFuture", "LocalBoxFuture"]) => true,
        Type::Path(ty) if ends_in(&ty.path, &["Pin", "Box"]) => {
            let Some(last) = ty.path.segments.last() else { return false };
            let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return false };
            arguments
                .args
                .iter()
                .any(|argument| matches!(argument, syn::GenericArgument::Type(ty) if is_future(ty)))
        }
        _ => false,
    }
}

fn promises_future(bounds: &Punctuated<TypeParamBound, Token![+]>) -> bool {
    bounds
        .iter()
        .any(|bound| matches!(bound, TypeParamBound::Trait(bound) if ends_in(&bound.path, &["Future"])))
}

fn ends_in(path: &syn::Path, words: &[&str]) -> bool {
    path.segments.last().is_some_and(|segment| words.iter().any(|word| segment.ident == word))
}
