//! What `#[outbox_handler(...)]` says, and the signature below it.

use proc_macro2::TokenStream;
use syn::{LitInt, Signature};

use super::{is_named, literal, takes_mutation, text_option};

/// What matters here of an outbox handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::audit) struct OutboxHandler {
    /// The event's type and version, as far as they can be read.
    pub(in crate::audit) event: Option<(String, u32)>,
    pub(in crate::audit) handler_key: Option<String>,
    pub(in crate::audit) says_on_lapse: bool,
    /// Whether it takes a `Mutation`, and so runs in a transaction.
    pub(in crate::audit) is_transactional: bool,
}

impl OutboxHandler {
    pub(super) fn of(options: &[TokenStream], signature: &Signature) -> Self {
        let version = literal::<LitInt>(options, "version").and_then(|version| version.base10_parse().ok());
        Self {
            event: text_option(options, "event").zip(version),
            handler_key: text_option(options, "handler_key"),
            says_on_lapse: options.iter().any(|option| is_named(option, "on_lapse")),
            is_transactional: signature.inputs.iter().any(takes_mutation),
        }
    }
}
