//! Expands a service function: its signature stays, but for the transaction; values are recorded as JSON.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Pat, ReturnType};

use crate::args::ReleaseOn;
use crate::check::name_of;
use crate::function::Argument;
use crate::handler::{bindings, claim, claimed, policy, rebind, recovered, run_body};
use crate::model::Model;
use crate::runtime::{ours_at, private, private_at};

/// The whole function.
pub(crate) fn expand(model: &Model) -> TokenStream {
    let idem = private();
    let function = &model.function;
    let (attrs, vis, name) = (&function.attrs, &function.vis, &function.sig.ident);
    let (generics, where_clause) = (&function.sig.generics, &function.sig.generics.where_clause);
    let output = &function.sig.output;
    // What the return type lacks is said there, and once: the whole call stands at that place.
    let at = ours_at(match output {
        ReturnType::Type(_, ty) => ty.span(),
        ReturnType::Default => output.span(),
    });
    let called = private_at(at);
    let receiver = function.receiver.iter();
    let request_ty = &function.idem.ty;
    let parameters = function.arguments.iter().enumerate().map(|(index, argument)| {
        let (attrs, ty, parameter) = (&argument.attrs, &argument.ty, parameter(index, argument));
        quote!(#(#attrs)* #parameter: #ty)
    });
    let destructured =
        function.arguments.iter().enumerate().filter(|(_, argument)| name_of(&argument.pat).is_none());
    let destructured = destructured.map(|(index, argument)| {
        let (pat, name) = (&argument.pat, nameless(index));
        quote!(let #pat = #name;)
    });
    let registration = model.registration();
    let policy = policy(model, &idem);
    let fingerprint = fingerprint(model, &idem);
    let options = options(model, at);
    let refused = quote!(::core::result::Result::Err(::core::convert::From::from(__idem_error)));
    let run_body = recovered(model, run_body(model), &refused);
    let bindings = bindings(model, &idem, &quote!(::core::option::Option::Some(&__idem_value)));
    let status = model.status.iter();
    let success = quote! {
        match #run_body {
            ::core::result::Result::Err(__idem_error) => ::core::result::Result::Err(__idem_error),
            ::core::result::Result::Ok(__idem_value) => {
                let __idem_bindings = #bindings;
                ::core::result::Result::Ok(
                    #idem::Success::new(__idem_value).bindings(__idem_bindings) #(.status(#status))*
                )
            }
        }
    };
    let run = if let Some(mutation) = &function.mutation {
        let (pat, ty) = (&mutation.pat, &mutation.ty);
        let request = rebind(&function.idem.pat, &quote!(&#idem::inside(&__idem_guard, __idem_mutation)));
        quote_spanned! {at=>
            run(async move |__idem_mutation: #ty| {
                #request
                let #pat = __idem_mutation;
                #success
            })
        }
    } else {
        let request = rebind(&function.idem.pat, &claimed(model));
        let claim = claim(model);
        quote_spanned! {at=>
            run_external(async move |__idem_claim: &#claim| {
                #request
                #success
            })
        }
    };
    let call = quote_spanned! {at=>
        match #called::operation(&__idem_guard, &__IDEM_POLICY, __idem_asked) #options .#run.await {
                ::core::result::Result::Ok(__idem_outcome) => {
                    ::core::result::Result::Ok(__idem_outcome.into_value())
                }
                ::core::result::Result::Err(__idem_error) => ::core::result::Result::Err(__idem_error),
            }
    };
    quote! {
        #(#attrs)*
        #vis async fn #name #generics (
            #(#receiver,)*
            __idem_request: #request_ty,
            #(#parameters),*
        ) #output #where_clause {
            #registration
            #policy
            let __idem_fingerprint = #fingerprint;
            let __idem_guard = __idem_request.guard().clone();
            let __idem_asked = __idem_fingerprint.map(|__idem_print| __idem_request.with(__idem_print));
            #(#destructured)*
            #call
        }
    }
}

/// The fingerprint of the arguments by name, without the skipped ones.
fn fingerprint(model: &Model, idem: &TokenStream) -> TokenStream {
    if let Some(expr) = &model.fingerprint {
        return quote!(#idem::fingerprint_of(&(#expr)));
    }
    let parts = model.function.arguments.iter().enumerate().filter_map(|(index, argument)| {
        let (name, value) = match &argument.pat {
            Pat::Ident(pat) if model.skip.contains(&pat.ident) => return None,
            Pat::Ident(pat) => (pat.ident.to_string(), pat.ident.clone()),
            _ => (index.to_string(), nameless(index)),
        };
        Some(quote_spanned!(argument.ty.span()=> .with(#name, &#value)))
    });
    quote!(#idem::Arguments::new() #(#parts)* .fingerprint())
}

/// A parameter as it stands in the signature.
fn parameter(index: usize, argument: &Argument) -> TokenStream {
    match &argument.pat {
        Pat::Ident(pat) => quote!(#pat),
        _ => nameless(index).into_token_stream(),
    }
}

/// The name of a parameter that is destructured.
fn nameless(index: usize) -> Ident {
    format_ident!("__idem_argument_{}", index)
}

fn options(model: &Model, at: Span) -> TokenStream {
    let mut options = TokenStream::new();
    match &model.release_on {
        None => {}
        Some(ReleaseOn::Patterns(patterns)) => options.extend(
            quote_spanned!(at=> .release_on(|__idem_error| ::core::matches!(__idem_error, #(#patterns)|*))),
        ),
        Some(ReleaseOn::Predicate(predicate)) => {
            options.extend(quote_spanned!(at=> .release_on(#predicate)));
        }
    }
    if model.record_failures {
        options.extend(quote_spanned!(at=> .record_failures()));
    }
    options
}
