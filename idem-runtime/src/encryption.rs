//! Stored answers that only the application can read: sealed before they reach the database, opened when they are
//! replayed.
//!
//! What a body gave away and what its steps and events hold is sealed with `XChaCha20-Poly1305` under a key of the
//! application, and bound to the very record that it belongs to. Nonces are random and have 192 bits, so that any
//! number of processes may seal with one key. Programs without the feature `encryption` know a sealed answer when
//! they meet one and refuse it; nothing runs again because an answer cannot be read.

mod binding;
mod frame;
#[cfg(feature = "encryption")]
mod keys;
mod sealing;

pub use crate::record::{Sealed, sealed_key_id};
pub(crate) use binding::Binding;
#[cfg(feature = "encryption")]
pub use keys::{AnswerKeys, AnswerKeysError};
pub(crate) use sealing::{NotSealed, Sealing};

/// Why something sealed could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It was sealed with a key that this guard does not have.
    #[error(
        "the recorded answer is sealed with the key `{key_id}`, which this service does not have: give its guard that key"
    )]
    UnknownKey {
        /// The id of the key.
        key_id: String,
    },
    /// It is not what was sealed under this key for this record: damaged, exchanged, or sealed by another key with
    /// the same id.
    #[error(
        "the recorded answer does not open with the key `{key_id}`: it was changed, or the key is another one with that id"
    )]
    Refused {
        /// The id of the key.
        key_id: String,
    },
}

#[cfg(test)]
#[cfg(feature = "encryption")]
mod tests;
