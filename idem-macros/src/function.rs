//! The annotated function: its signature parsed, its body kept as the user's own tokens.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::quote;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, FnArg, Pat, PatType, Receiver, Signature, Token, Type, Visibility};

use crate::diag::Errors;
use crate::stance::Stance;

/// A parameter that is neither the receiver, the request nor the transaction.
pub(crate) struct Argument {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) pat: Pat,
    pub(crate) ty: Type,
}

/// How the function takes its request.
pub(crate) enum Kind {
    /// `idem: Idempotency`: called by axum.
    Handler,
    /// `idem: &Idempotency`: called by the user's own code.
    Service,
}

/// The function before its options are looked at.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: Group,
    pub(crate) kind: Kind,
    pub(crate) receiver: Option<Receiver>,
    pub(crate) idem: PatType,
    pub(crate) mutation: Option<PatType>,
    pub(crate) arguments: Vec<Argument>,
}

/// A function, with or without a body.
pub(crate) struct Parts {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: Option<Group>,
}

impl Parts {
    /// The function that an item is, or `None` when it is something else.
    pub(crate) fn of(item: &TokenStream) -> Option<Self> {
        Self::parse.parse2(item.clone()).ok()
    }
}

impl Parse for Parts {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self {
            attrs: input.call(Attribute::parse_outer)?,
            vis: input.parse()?,
            sig: input.parse()?,
            body: if input.peek(Token![;]) {
                input.parse::<Token![;]>()?;
                None
            } else {
                Some(input.parse()?)
            },
        })
    }
}

/// The item as it was, for the code after a message: its body also mentions the parameters that only the
/// expansion would have used, so that one mistake gives one message.
pub(crate) fn given_back(item: &TokenStream) -> TokenStream {
    let Some(Parts { attrs, vis, sig, body: Some(body) }) = Parts::of(item) else {
        return item.clone();
    };
    let names = sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(PatType { pat, ty, .. }) if !matches!(role(ty), Role::Other) => match &**pat {
            Pat::Ident(pat) => Some(pat.ident.clone()),
            _ => None,
        },
        _ => None,
    });
    let body = body.stream();
    quote!(#(#attrs)* #vis #sig { #(let _ = &#names;)* #body })
}

impl Function {
    /// Reads the function, or says what it should be.
    pub(crate) fn parse(item: TokenStream, errors: &mut Errors) -> Option<Self> {
        let Some(parts) = Parts::of(&item) else {
            errors.at(
                first_word(item),
                "`#[idempotent]` goes on a function: write `async fn name(idem: Idempotency, ...) { ... }`",
            );
            return None;
        };
        let Parts { attrs, vis, sig, body } = parts;
        let Some(body) = body else {
            errors.at(
                &sig.ident,
                "the options belong to the function with the body: write `#[idempotent]` here, and the options in \
                 the `impl` block",
            );
            return None;
        };
        check_form(&attrs, &sig, errors);
        if attrs.iter().any(|attr| Stance::named(attr.path()).is_some()) {
            // Written for the other stance, it is not judged by the rules of this one.
            return None;
        }
        let (receiver, rest) = split_receiver(&sig);
        let mut rest = rest.into_iter();
        let (kind, idem) = request_of(&sig, rest.next(), errors)?;
        let (mut mutation, mut arguments) = (None, Vec::new());
        for argument in rest {
            match role(&argument.ty) {
                Role::Mutation if mutation.is_some() => {
                    errors.at(&argument.ty, "there is one transaction: remove the second `&mut Mutation`");
                }
                Role::Mutation => mutation = Some(argument),
                Role::MutationByValue => {
                    errors.at(&argument.ty, "the transaction is borrowed: write `mutation: &mut Mutation`");
                }
                Role::Request => errors.at(
                    &argument.ty,
                    "the request comes first, before all other parameters: move it to the front",
                ),
                Role::Other => {
                    let PatType { attrs, pat, ty, .. } = argument;
                    arguments.push(Argument { attrs, pat: *pat, ty: *ty });
                }
            }
        }
        Some(Self { attrs, vis, sig, body, kind, receiver, idem, mutation, arguments })
    }
}

/// The first word after attributes and visibility: what the item is.
pub(crate) fn first_word(item: TokenStream) -> TokenStream {
    let find = |input: ParseStream<'_>| {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        let word: TokenTree = input.parse()?;
        input.parse::<TokenStream>()?;
        Ok(TokenStream::from(word))
    };
    find.parse2(item.clone()).unwrap_or(item)
}

fn check_form(attrs: &[Attribute], sig: &Signature, errors: &mut Errors) {
    if let Some(constness) = &sig.constness {
        errors.at(
            constness,
            "a guarded function waits for the database: write `async fn` instead of `const fn`",
        );
    } else if sig.asyncness.is_none() {
        errors.at(sig.fn_token, "a guarded function is async: write `async fn`");
    }
    Stance::Idempotent.check_alone(attrs, errors);
}

fn split_receiver(sig: &Signature) -> (Option<Receiver>, Vec<PatType>) {
    let mut receiver = None;
    let mut rest = Vec::new();
    for input in &sig.inputs {
        match input {
            FnArg::Receiver(this) => receiver = Some(this.clone()),
            FnArg::Typed(argument) => rest.push(argument.clone()),
        }
    }
    (receiver, rest)
}

const FIRST: &str = "the first parameter says whose request it is: write `idem: Idempotency` in a handler, \
                     `idem: &Idempotency` in a service function";

fn request_of(sig: &Signature, first: Option<PatType>, errors: &mut Errors) -> Option<(Kind, PatType)> {
    let Some(first) = first else {
        errors.at(&sig.ident, FIRST);
        return None;
    };
    if let Type::Reference(reference) = &*first.ty
        && is_request(&reference.elem)
    {
        if let Some(mutability) = &reference.mutability {
            errors.at(mutability, "the request is only read: write `idem: &Idempotency`");
            return None;
        }
        return Some((Kind::Service, first));
    }
    if is_request(&first.ty) {
        return Some((Kind::Handler, first));
    }
    // A later one gets the message of its own, that it must move to the front.
    let later = sig.inputs.iter().find_map(|input| match input {
        FnArg::Typed(argument) if matches!(role(&argument.ty), Role::Request) => Some(&argument.ty),
        _ => None,
    });
    match later {
        Some(ty) => {
            errors.at(ty, "the request comes first, before all other parameters: move it to the front");
        }
        None => errors.at(&first.ty, FIRST),
    }
    None
}

enum Role {
    Mutation,
    MutationByValue,
    Request,
    Other,
}

fn role(ty: &Type) -> Role {
    match ty {
        Type::Reference(reference) if named(&reference.elem, "Mutation") => {
            if reference.mutability.is_some() { Role::Mutation } else { Role::MutationByValue }
        }
        Type::Reference(reference) if is_request(&reference.elem) => Role::Request,
        ty if named(ty, "Mutation") => Role::MutationByValue,
        ty if is_request(ty) => Role::Request,
        _ => Role::Other,
    }
}

/// Whether a type is the request as a service function takes it.
pub(crate) fn is_request_by_reference(ty: &Type) -> bool {
    matches!(ty, Type::Reference(reference) if reference.mutability.is_none() && is_request(&reference.elem))
}

fn is_request(ty: &Type) -> bool {
    named(ty, "Idempotency")
}

/// Whether the last word of a path ends so; an alias such as `PgMutation` counts.
pub(crate) fn named(ty: &Type, suffix: &str) -> bool {
    match ty {
        Type::Path(path) => {
            path.path.segments.last().is_some_and(|segment| segment.ident.to_string().ends_with(suffix))
        }
        _ => false,
    }
}
