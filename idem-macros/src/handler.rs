//! Expands a handler: axum sees plain arguments and a `Response`; the body runs at most once inside.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Pat, ReturnType, Type};

use crate::args::{Bind, Key, OnLapse, ReleaseOn};
use crate::ignorable::ignorable;
use crate::model::Model;
use crate::runtime::{ours_at, private, private_at};

/// The whole function.
pub(crate) fn expand(model: &Model) -> TokenStream {
    let idem = private();
    let function = &model.function;
    let (attrs, vis, name) = (&function.attrs, &function.vis, &function.sig.ident);
    let (generics, where_clause) = (&function.sig.generics, &function.sig.generics.where_clause);
    let request_ty = &function.idem.ty;
    let guarded = match &model.key {
        Key::Required => "Guarded",
        Key::Optional | Key::Expr(_) => "GuardedOptional",
    };
    let at = request_ty.span();
    let (guarded, of) = (Ident::new(guarded, at), private_at(at));
    let request = quote_spanned!(at=> <#request_ty as #of::IsIdempotency>::#guarded);
    let (parameters, bound, received) = arguments(model, &idem);
    let registration = model.registration();
    let policy = policy(model, &idem);
    let (declared, ignorable) = (declared(model, &idem), ignorable(model, &idem));
    let key = match &model.key {
        Key::Required | Key::Optional => quote!(::core::option::Option::None),
        Key::Expr(expr) => quote! {
            match #idem::key_of(#expr) {
                ::core::result::Result::Ok(__idem_key) => ::core::option::Option::Some(__idem_key),
                ::core::result::Result::Err(__idem_error) => {
                    return #idem::IntoResponse::into_response(__idem_error);
                }
            }
        },
    };
    let (run, body) = body(model, &idem);
    quote! {
        #(#attrs)*
        #vis async fn #name #generics (
            __idem_request: #request,
            #(#parameters),*
        ) -> #idem::Response #where_clause {
            #registration
            #policy
            #ignorable
            let __idem_guard = __idem_request.guard().clone();
            #bound
            let __idem_key = #key;
            #run(__idem_request, &__IDEM_POLICY, #declared, #received, __idem_key, #body).await
        }
    }
}

/// The parameters after the request, the statements that bind the user's patterns, and the received bytes.
fn arguments(model: &Model, idem: &TokenStream) -> (Vec<TokenStream>, TokenStream, TokenStream) {
    let mut parameters = Vec::new();
    let mut bound = TokenStream::new();
    let last = model.function.arguments.len().checked_sub(1);
    for (index, argument) in model.function.arguments.iter().enumerate() {
        let (attrs, pat, ty) = (&argument.attrs, &argument.pat, &argument.ty);
        let name = format_ident!("__idem_argument_{}", index);
        if Some(index) == last {
            parameters.push(quote!(#(#attrs)* #name: #idem::Received<#ty>));
            bound.extend(quote! {
                let #idem::Received { value: #name, bytes: __idem_received } = #name;
                let #pat = #name;
            });
        } else {
            parameters.push(quote!(#(#attrs)* #name: #ty));
            bound.extend(quote!(let #pat = #name;));
        }
    }
    if last.is_none() {
        parameters.push(quote!(__idem_argument: #idem::Received<#idem::NoBody>));
        bound.extend(quote!(let #idem::Received { bytes: __idem_received, .. } = __idem_argument;));
    }
    (parameters, bound, quote!(&__idem_received))
}

/// The statement that holds the checked policy.
pub(crate) fn policy(model: &Model, idem: &TokenStream) -> TokenStream {
    let route = &model.route;
    let retry_failed = model.retry_failed;
    let on_lapse = match &model.on_lapse {
        OnLapse::Rerun => quote!(Rerun),
        OnLapse::Refuse => quote!(Refuse),
        OnLapse::Recover(_) => quote!(Recover),
    };
    let millis = |option: Option<u64>| match option {
        Some(millis) => quote!(::core::option::Option::Some(#millis)),
        None => quote!(::core::option::Option::None),
    };
    let (ttl, lease) = (millis(model.ttl), millis(model.lease));
    let (wait, max_run) = (millis(model.wait), millis(model.max_run));
    quote! {
        static __IDEM_POLICY: #idem::LazyLock<#idem::Policy> = #idem::LazyLock::new(|| {
            #idem::policy(#idem::PolicySpec {
                route: #route,
                retry_failed: #retry_failed,
                on_lapse: #idem::OnLapse::#on_lapse,
                ttl_ms: #ttl,
                lease_ms: #lease,
                wait_ms: #wait,
                max_run_ms: #max_run,
            })
        });
    }
}

fn declared(model: &Model, idem: &TokenStream) -> TokenStream {
    let ignore = &model.ignore;
    quote!(#idem::Declared { ignore: &[#(#ignore),*] })
}

/// Makes the user's name of the request usable inside, whether or not the body uses it.
pub(crate) fn rebind(pat: &Pat, value: &TokenStream) -> TokenStream {
    match pat {
        Pat::Ident(ident) => {
            let name = &ident.ident;
            quote!(let #pat = #value; let _ = &#name;)
        }
        _ => quote!(let #pat = #value;),
    }
}

/// What an external body sees as its request.
pub(crate) fn claimed(model: &Model) -> TokenStream {
    if model.steps { quote!(&__idem_claim.steps_only()) } else { quote!(__idem_claim) }
}

/// The user's body under its own return type, so that `return` and `?` mean what they always meant.
pub(crate) fn run_body(model: &Model) -> TokenStream {
    let body = &model.function.body;
    let output = match &model.function.sig.output {
        ReturnType::Type(_, ty) if contains_impl(ty) => TokenStream::new(),
        ReturnType::Default => TokenStream::new(),
        output @ ReturnType::Type(..) => quote!(#output),
    };
    quote!((async move || #output #body)().await)
}

/// The body, after the provider was asked where the route says so; `refused` is what an open question gives.
pub(crate) fn recovered(model: &Model, run_body: TokenStream, refused: &TokenStream) -> TokenStream {
    let OnLapse::Recover(ask) = &model.on_lapse else { return run_body };
    let at = ask.span();
    let idem = private_at(at);
    let recovered = quote_spanned!(at=> #idem::Recovered::recovered(__idem_value));
    quote! {{
        let __idem_recovery = __idem_claim.recover(async { (#ask).await }).await;
        match __idem_recovery {
            ::core::result::Result::Ok(::core::option::Option::None) => #run_body,
            ::core::result::Result::Ok(::core::option::Option::Some(__idem_value)) => #recovered,
            ::core::result::Result::Err(__idem_error) => #refused,
        }
    }}
}

fn contains_impl(ty: &Type) -> bool {
    quote!(#ty)
        .into_iter()
        .any(|token| matches!(&token, proc_macro2::TokenTree::Ident(word) if word == "impl"))
}

/// The function that runs the body, and the closure that it is given.
fn body(model: &Model, idem: &TokenStream) -> (TokenStream, TokenStream) {
    let request_pat = &model.function.idem.pat;
    // The engine answers for a recovery that learnt nothing, whatever is returned here.
    let refused =
        quote!(return #idem::Verdict::Released { error: #idem::IntoResponse::into_response(__idem_error) });
    let returned = recovered(model, run_body(model), &refused);
    let bindings = bindings(model, idem, &quote!(#idem::carried(&__idem_returned)));
    let release = release(model, idem);
    let headers = &model.headers;
    let judged = quote! {
        let __idem_returned = #returned;
        let __idem_is_err = #idem::is_err!(&__idem_returned);
        let __idem_release = #release;
        let __idem_bindings = #bindings;
        let __idem_response = #idem::IntoResponse::into_response(__idem_returned);
        #idem::judge(__idem_guard, #idem::Returned {
            response: __idem_response,
            is_err: __idem_is_err,
            release: __idem_release,
            bindings: __idem_bindings,
        }, &[#(#headers),*]).await
    };
    let (run, parameter, prelude) = if let Some(mutation) = &model.function.mutation {
        let (pat, ty) = (&mutation.pat, &mutation.ty);
        let request = rebind(request_pat, &quote!(#idem::inside(&__idem_guard, __idem_mutation)));
        let prelude = quote!(#request let #pat = __idem_mutation;);
        (quote!(#idem::run), quote!(__idem_mutation: #ty), prelude)
    } else {
        let claim = claim(model);
        let claim = quote!(__idem_claim: &#claim);
        (quote!(#idem::run_external), claim, rebind(request_pat, &claimed(model)))
    };
    // Boxed here, where its type is known, so that what is around it is compiled once for all handlers. One
    // that cannot move between threads is said at the function's name.
    let at_name = ours_at(model.function.sig.ident.span());
    let body = quote_spanned! {at_name=>
        move |#parameter| ::std::boxed::Box::pin(async move {
            #prelude
            #judged
        })
    };
    (run, body)
}

/// What an external body holds, said at the user's type.
pub(crate) fn claim(model: &Model) -> TokenStream {
    let ty = &model.function.idem.ty;
    let at = ty.span();
    let of = private_at(at);
    quote_spanned!(at=> <#ty as #of::IsIdempotency>::Claim)
}

/// Whether the returned error is one of those that release the claim.
fn release(model: &Model, idem: &TokenStream) -> TokenStream {
    match &model.release_on {
        None => quote!(false),
        Some(ReleaseOn::Patterns(patterns)) => {
            quote!(::core::matches!(&__idem_returned, ::core::result::Result::Err(#(#patterns)|*)))
        }
        Some(ReleaseOn::Predicate(predicate)) => quote! {
            #idem::is_released(&__idem_returned, #predicate)
        },
    }
}

/// What `bind` reads from the success value, which `carried` gives as an option.
pub(crate) fn bindings(model: &Model, idem: &TokenStream, carried: &TokenStream) -> TokenStream {
    let Some(bind) = &model.bind else {
        return quote!(<#idem::Bindings as ::core::default::Default>::default());
    };
    let (mut task, mut event) = (quote!(::core::option::Option::None), quote!(::core::option::Option::None));
    let name = match bind {
        Bind::Field(field) => {
            let read = quote_spanned!(field.span()=> #idem::Bindable::bound(&__idem_value.#field));
            if field == "outbox_event_id" {
                event = read;
            } else {
                task = read;
            }
            format_ident!("__idem_value")
        }
        Bind::Exprs(pairs) => {
            for (target, expr) in pairs {
                let read = quote_spanned!(expr.span()=> #idem::Bindable::bound(&(#expr)));
                if target == "outbox_event_id" { event = read } else { task = read }
            }
            format_ident!("value")
        }
    };
    quote! {
        match #carried {
            ::core::option::Option::None => <#idem::Bindings as ::core::default::Default>::default(),
            ::core::option::Option::Some(#name) => #idem::Bindings { task_id: #task, outbox_event_id: #event },
        }
    }
}
