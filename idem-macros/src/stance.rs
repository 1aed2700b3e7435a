//! The stances, and how an attribute is known as one of them: by the last word of its path.

use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Path, Token};

use crate::diag::Errors;

/// What a function can say about a retry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stance {
    Idempotent,
    Exempt,
    ReadOnly,
    /// A function that the outbox calls, which is guarded as well.
    OutboxHandler,
}

impl Stance {
    /// The attribute's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Idempotent => "idempotent",
            Self::Exempt => "exempt",
            Self::ReadOnly => "read_only",
            Self::OutboxHandler => "outbox_handler",
        }
    }

    /// The stance that a path names, also under a renamed runtime.
    pub(crate) fn named(path: &Path) -> Option<Self> {
        let word = &path.segments.last()?.ident;
        [Self::Idempotent, Self::Exempt, Self::ReadOnly, Self::OutboxHandler]
            .into_iter()
            .find(|stance| word == stance.name())
    }

    /// Whether one of the attributes inside `cfg_attr` is a stance, and under which condition.
    pub(crate) fn under_condition(attr: &Attribute) -> Option<Meta> {
        let parse = Punctuated::<Meta, Token![,]>::parse_terminated;
        let mut parts =
            attr.path().is_ident("cfg_attr").then(|| attr.parse_args_with(parse).ok())??.into_iter();
        let condition = parts.next()?;
        parts.any(|meta| Self::named(meta.path()).is_some()).then_some(condition)
    }

    /// Refuses a second stance below this one; that one is told nothing of us, so one mistake is one message.
    pub(crate) fn check_alone(self, attrs: &[Attribute], errors: &mut Errors) {
        for attr in attrs {
            let name = self.name();
            match Self::named(attr.path()) {
                Some(other) if other == self => {
                    errors.at(attr, format_args!("`#[{name}]` is there twice: remove one of the two"));
                }
                Some(_) => errors.at(
                    attr,
                    format_args!(
                        "a function has one stance, and `#[{name}]` stands above: remove one of the two"
                    ),
                ),
                None => {}
            }
        }
    }
}
