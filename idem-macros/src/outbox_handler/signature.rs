//! How a handler takes its event, what it needs, and where its effect goes.

use syn::{FnArg, Ident, PatType, Receiver, ReturnType, Type, TypeReference};

use crate::diag::Errors;
use crate::function::{Parts, named};
use crate::stance::Stance;

const FIRST: &str = "the first parameter is the event: write `delivery: &Delivery<Payload>`";

/// Where the effect goes.
pub(super) enum Effect {
    /// `mutation: &mut Mutation`.
    InTransaction,
    /// `claim: &Claim`.
    Outside,
}

/// A signature that can be called.
pub(super) struct Signature {
    pub(super) name: Ident,
    pub(super) delivery: Type,
    /// What it returns.
    pub(super) output: ReturnType,
    /// The type behind the reference, if the handler takes something of the application.
    pub(super) state: Option<Type>,
    /// Whether the application's value stands before the one that says where the effect goes.
    pub(super) state_first: bool,
    pub(super) effect: Effect,
    /// `Mutation` or `Claim`, under whatever alias.
    pub(super) target: Type,
}

impl Signature {
    /// Reads the signature, or says what it should be.
    pub(super) fn read(parts: &Parts, errors: &mut Errors) -> Option<Self> {
        let sig = &parts.sig;
        Stance::OutboxHandler.check_alone(&parts.attrs, errors);
        if sig.asyncness.is_none() {
            errors.at(sig.fn_token, "a handler waits for the database: write `async fn`");
        }
        if !sig.generics.params.is_empty() {
            errors.at(
                &sig.generics,
                "the dispatcher calls the function by itself and cannot choose types: write them out",
            );
            return None;
        }
        if let ReturnType::Default = sig.output {
            errors.at(&sig.ident, "a handler says whether it succeeded: return `Result<(), Error>`");
        }
        let mut typed = Vec::new();
        for input in &sig.inputs {
            match input {
                FnArg::Receiver(receiver) => return refuse_receiver(receiver, errors),
                FnArg::Typed(argument) => typed.push(argument),
            }
        }
        let mut typed = typed.into_iter();
        let Some(first) = typed.next() else {
            errors.at(&sig.ident, FIRST);
            return None;
        };
        let delivery = match &*first.ty {
            Type::Reference(TypeReference { mutability: None, elem, .. }) if named(elem, "Delivery") => {
                (**elem).clone()
            }
            other => {
                errors.at(other, FIRST);
                return None;
            }
        };
        Self::read_rest(&parts.sig, delivery, typed, errors)
    }

    fn read_rest<'a>(
        sig: &syn::Signature,
        delivery: Type,
        rest: impl Iterator<Item = &'a PatType>,
        errors: &mut Errors,
    ) -> Option<Self> {
        let (mut target, mut state, mut state_first) = (None, None, false);
        for PatType { ty, .. } in rest {
            let Type::Reference(TypeReference { mutability, elem, .. }) = &**ty else {
                let by_value = ["Mutation", "Claim"].iter().any(|name| named(ty, name));
                errors.at(
                    ty,
                    if by_value {
                        "it is borrowed: write `mutation: &mut Mutation`, or `claim: &Claim`"
                    } else {
                        "what a handler needs of the application is borrowed from the dispatcher: write \
                         `app: &App`, and give it by `Dispatcher::builder(guard).state(app)`"
                    },
                );
                return None;
            };
            let effect = match (named(elem, "Mutation"), named(elem, "Claim"), mutability) {
                (true, _, Some(_)) => Effect::InTransaction,
                (true, _, None) => {
                    errors.at(ty, "the transaction is written to: write `mutation: &mut Mutation`");
                    return None;
                }
                (_, true, None) => Effect::Outside,
                (_, true, Some(_)) => {
                    errors.at(ty, "the claim is only read: write `claim: &Claim`");
                    return None;
                }
                (false, false, Some(mutability)) => {
                    errors.at(
                        mutability,
                        "deliveries run side by side and share the application: write `&App`, with a lock \
                         inside where it changes",
                    );
                    return None;
                }
                (false, false, None) if state.is_some() => {
                    errors.at(ty, "a handler takes one value of the application: put both into one struct");
                    return None;
                }
                (false, false, None) => {
                    state = Some((**elem).clone());
                    state_first = target.is_none();
                    continue;
                }
            };
            if target.is_some() {
                errors.at(
                    ty,
                    "an effect goes one way: keep `mutation: &mut Mutation` for rows of this database, or \
                     `claim: &Claim` for what is outside",
                );
                return None;
            }
            target = Some((effect, (**elem).clone()));
        }
        let Some((effect, target)) = target else {
            errors.at(
                &sig.ident,
                "the handler does not say where its effect goes: take `mutation: &mut Mutation` to write rows of \
                 this database, or `claim: &Claim` for an effect outside, with `claim.downstream_key(...)`",
            );
            return None;
        };
        let (name, output) = (sig.ident.clone(), sig.output.clone());
        Some(Self { name, delivery, output, state, state_first, effect, target })
    }
}

fn refuse_receiver(receiver: &Receiver, errors: &mut Errors) -> Option<Signature> {
    errors.at(
        receiver,
        "the dispatcher has no value to call a method on: write a free function that takes `app: &App`",
    );
    None
}
