//! The rules of `#[read_only]`: it takes no options, and its function no transaction.

use proc_macro2::TokenStream;
use syn::{FnArg, Signature};

use crate::diag::Errors;
use crate::function::mentions_mutation;

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
