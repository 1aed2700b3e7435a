//! The item beside the function that registers it; a model cannot fail to expand.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{LitStr, ReturnType};

use super::check::Model;
use super::signature::Effect;
use crate::registration;
use crate::runtime::{ours_at, private, private_at};
use crate::stance::Stance;

/// Registers the stance and the handler when the program is linked.
pub(super) fn registration(model: &Model) -> TokenStream {
    let idem = private();
    let signature = &model.signature;
    let (event, version, key) = (&model.event, &model.version, &model.handler_key);
    let route =
        LitStr::new(&format!("outbox:{}:{}:{}", event.value(), version, key.value()), model.event.span());
    let stance =
        registration::registration(Stance::OutboxHandler, Some(&route), &signature.name, &model.written);
    let (retry_failed, on_lapse) =
        (model.retry_failed, format_ident!("{}", if model.refuse { "Refuse" } else { "Rerun" }));
    let [ttl, lease, max_run] = [model.ttl, model.lease, model.max_run].map(|millis| match millis {
        Some(millis) => quote!(::core::option::Option::Some(#millis)),
        None => quote!(::core::option::Option::None),
    });
    let spec = quote! {
        #idem::HandlerSpec {
            event: #event,
            version: #version,
            handler_key: #key,
            retry_failed: #retry_failed,
            on_lapse: #idem::OnLapse::#on_lapse,
            ttl_ms: #ttl,
            lease_ms: #lease,
            max_run_ms: #max_run,
        }
    };
    let handler = handler(model, &spec);
    quote! {
        const _: () = {
            #stance
            #idem::inventory::submit! {
                #idem::HandlerEntry::declared(#event, #version, #key, || #handler)
            }
        };
    }
}

/// The function as the dispatcher calls it. What the types lack is said where the user wrote them.
fn handler(model: &Model, spec: &TokenStream) -> TokenStream {
    let signature = &model.signature;
    let (name, target, delivery) = (&signature.name, &signature.target, &signature.delivery);
    let at = ours_at(delivery.span());
    let idem = private_at(at);
    let register = match signature.effect {
        Effect::InTransaction => quote_spanned!(at=> #idem::transactional_handler),
        Effect::Outside => quote_spanned!(at=> #idem::external_handler),
    };
    let returned = ours_at(match &signature.output {
        ReturnType::Type(_, ty) => ty.span(),
        ReturnType::Default => signature.name.span(),
    });
    let store = quote_spanned!(target.span()=> <#target as #idem::HasStore>::Store);
    let state = match &signature.state {
        Some(state) => quote!(#state),
        None => quote!(()),
    };
    let call = match (&signature.state, signature.state_first) {
        (None, _) => quote!(#name(__idem_delivery, __idem_target)),
        (Some(_), true) => quote!(#name(__idem_delivery, __idem_state, __idem_target)),
        (Some(_), false) => quote!(#name(__idem_delivery, __idem_target, __idem_state)),
    };
    let call = quote_spanned!(returned=> ::std::boxed::Box::pin(#call));
    let unused = signature.state.is_none().then(|| quote!(let _ = __idem_state;));
    quote_spanned! {at=>
        #register::<#store, _, #state, _>(#spec, |__idem_delivery, __idem_state, __idem_target| {
            #unused
            #call
        })
    }
}
