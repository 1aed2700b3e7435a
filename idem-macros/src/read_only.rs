//! The rules of `#[read_only]`: it takes no options, and its function no transaction.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{FnArg, Signature, Type};

use crate::diag::Errors;

/// Checks the attribute on its function.
pub(crate) fn check(args: &TokenStream, sig: &Signature, errors: &mut Errors) {
    if !args.is_empty() {
        errors.at(args, "`#[read_only]` has no options: write `#[read_only]`");
    }
    for input in &sig.inputs {
        if let FnArg::Typed(parameter) = input
            && mentions_mutation(&parameter.ty)
        {
            errors.at(
                &parameter.ty,
                "a read-only function cannot take the transaction that writes: write `reads: &ReadPool`, or \
                 annotate it with `#[idempotent]`",
            );
        }
    }
}

/// Whether the body's transaction stands anywhere in a type.
pub(crate) fn mentions_mutation(ty: &Type) -> bool {
    fn any(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Group(group) => any(group.stream()),
            TokenTree::Ident(word) => word.to_string().ends_with("Mutation"),
            _ => false,
        })
    }
    any(ty.to_token_stream())
}
