//! What the attributes of a function say about a retry.

mod outbox_handler;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use syn::parse::Parse;
use syn::{Attribute, FnArg, LitStr, Meta, ReturnType, Signature, Type};

pub(super) use outbox_handler::OutboxHandler;

/// What a write says about a retry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stance {
    Idempotent,
    Delegated,
    Exempt(Exemption),
    ReadOnly,
    Undeclared,
    /// The handler is not in the source.
    Unresolved,
}

/// Why a retry may run a write again, and until when that holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Exemption {
    pub(super) reason: Reason,
    pub(super) until: Option<String>,
}

/// A reason as far as it can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Reason {
    #[default]
    Missing,
    Given(String),
    /// An expression whose text is not in the source; it is checked when the program starts.
    Computed(String),
}

impl Stance {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Idempotent => "idempotent",
            Self::Delegated => "delegated",
            Self::Exempt(_) => "exempt",
            Self::ReadOnly => "read_only",
            Self::Undeclared => "undeclared",
            Self::Unresolved => "unresolved",
        }
    }
}

/// The attribute that declares a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Declaration {
    Idempotent(Idempotent),
    Exempt(Exemption),
    ReadOnly,
    OutboxHandler(OutboxHandler),
}

/// What matters here of `#[idempotent(...)]` and the signature below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Idempotent {
    pub(super) route: Option<String>,
    pub(super) says_on_lapse: bool,
    /// Whether it takes a `Mutation`, and so runs in a transaction.
    pub(super) is_transactional: bool,
    /// Whether it takes `&Idempotency`: called by code, not by axum.
    pub(super) is_service: bool,
}

/// The attributes that are a stance.
const STANCES: [&str; 4] = ["idempotent", "exempt", "read_only", "outbox_handler"];

impl Declaration {
    /// The first attribute that is a stance; `ours` gives its own name, behind imports.
    pub(super) fn of(
        attributes: &[Attribute],
        signature: &Signature,
        ours: impl Fn(&syn::Path) -> Option<String>,
    ) -> Option<Self> {
        attributes.iter().find_map(|attribute| Self::of_meta(&attribute.meta, signature, &ours))
    }

    fn of_meta(
        meta: &Meta,
        signature: &Signature,
        ours: &impl Fn(&syn::Path) -> Option<String>,
    ) -> Option<Self> {
        let tokens = match meta {
            Meta::List(list) => list.tokens.clone(),
            _ => TokenStream::new(),
        };
        if meta.path().is_ident("cfg_attr") {
            let parts = options(tokens).into_iter().skip(1);
            let mut metas = parts.filter_map(|part| syn::parse2::<Meta>(part).ok());
            return metas.find_map(|meta| Self::of_meta(&meta, signature, ours));
        }
        // Most attributes are none of ours by any name.
        let name = ours(meta.path()).filter(|name| STANCES.contains(&name.as_str()))?;
        let options = options(tokens);
        match name.as_str() {
            "idempotent" => Some(Self::Idempotent(Idempotent {
                route: text_option(&options, "route"),
                says_on_lapse: options.iter().any(|option| is_named(option, "on_lapse")),
                is_transactional: signature.inputs.iter().any(takes_mutation),
                is_service: signature.inputs.iter().any(takes_shared_request),
            })),
            "exempt" => {
                let reason = match text_option(&options, "reason") {
                    Some(reason) => Reason::Given(reason),
                    None => Reason::Missing,
                };
                Some(Self::Exempt(Exemption { reason, until: text_option(&options, "until") }))
            }
            "outbox_handler" => Some(Self::OutboxHandler(OutboxHandler::of(&options, signature))),
            _ => Some(Self::ReadOnly),
        }
    }

    /// The stance of a route whose handler carries this.
    pub(super) fn stance(&self) -> Stance {
        match self {
            Self::Idempotent(_) | Self::OutboxHandler(_) => Stance::Idempotent,
            Self::Exempt(exemption) => Stance::Exempt(exemption.clone()),
            Self::ReadOnly => Stance::ReadOnly,
        }
    }
}

/// The tokens between the commas.
fn options(tokens: TokenStream) -> Vec<TokenStream> {
    let mut options = vec![Vec::new()];
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => options.push(Vec::new()),
            _ => options
                .last_mut()
                .into_iter()
                .for_each(|option: &mut Vec<TokenTree>| option.push(token.clone())),
        }
    }
    options.into_iter().filter(|option| !option.is_empty()).map(TokenStream::from_iter).collect()
}

fn is_named(option: &TokenStream, name: &str) -> bool {
    matches!(option.clone().into_iter().next(), Some(TokenTree::Ident(ident)) if ident == name)
}

/// The text of `name = "text"`.
fn text_option(options: &[TokenStream], name: &str) -> Option<String> {
    literal::<LitStr>(options, name).map(|text| text.value())
}

/// What stands behind `name =`.
fn literal<T: Parse>(options: &[TokenStream], name: &str) -> Option<T> {
    let option = options.iter().find(|option| is_named(option, name))?;
    let value: TokenStream = option
        .clone()
        .into_iter()
        .skip_while(|token| !matches!(token, TokenTree::Punct(p) if p.as_char() == '=' && p.spacing() == Spacing::Alone))
        .skip(1)
        .collect();
    let value = match value.clone().into_iter().next() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => group.stream(),
        _ => value,
    };
    syn::parse2(value).ok()
}

/// The first parameter's last word, without the lifetimes and generics of its type.
pub(super) fn first_parameter(signature: &Signature) -> Option<String> {
    signature.inputs.iter().find_map(|input| match input {
        FnArg::Typed(input) => Some(last_word(&input.ty)),
        FnArg::Receiver(_) => None,
    })?
}

fn takes_mutation(input: &FnArg) -> bool {
    match input {
        FnArg::Typed(input) => match &*input.ty {
            Type::Reference(ty) => last_word(&ty.elem).is_some_and(|word| word == "Mutation"),
            _ => false,
        },
        FnArg::Receiver(_) => false,
    }
}

fn takes_shared_request(input: &FnArg) -> bool {
    match input {
        FnArg::Typed(input) => match &*input.ty {
            Type::Reference(ty) => {
                last_word(&ty.elem).is_some_and(|word| word == "Idempotency" || word == "Delegated")
            }
            _ => false,
        },
        FnArg::Receiver(_) => false,
    }
}

fn last_word(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(ty) => ty.path.segments.last().map(|segment| segment.ident.to_string()),
        _ => None,
    }
}

/// Whether callers await it: an `async fn`, or one that returns a future.
pub(super) fn is_awaited(signature: &Signature) -> bool {
    let promises = |ty: &Type| match ty {
        Type::ImplTrait(ty) => ty.bounds.iter().any(|bound| match bound {
            syn::TypeParamBound::Trait(bound) => {
                bound.path.segments.last().is_some_and(|segment| segment.ident == "Future")
            }
            _ => false,
        }),
        Type::Path(_) => last_word(ty).is_some_and(|word| word == "BoxFuture" || word == "LocalBoxFuture"),
        _ => false,
    };
    signature.asyncness.is_some() || matches!(&signature.output, ReturnType::Type(_, ty) if promises(ty))
}

/// Whether an `impl` block, trait or module is a `#[service]`.
pub(super) fn is_service(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|attr| attr.path().segments.last().is_some_and(|segment| segment.ident == "service"))
}
