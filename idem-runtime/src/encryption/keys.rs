//! The keys under which answers are sealed, each with an id that stands beside the ciphertext.

use std::fmt;
use std::sync::Arc;

use chacha20poly1305::aead::{Aead, Generate, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

use super::{Binding, NotSealed, OpenError};
use crate::record::Sealed;

/// Bytes of a key.
const KEY: usize = 32;
/// Bytes of a nonce.
const NONCE: usize = 24;

/// The keys of a guard: the current one seals, and every one opens what it has sealed.
///
/// To rotate: first give every process the new key with [`also`](Self::also), then make it the current one and keep
/// the old with `also`, and drop the old once no record that it sealed is left, which is after the longest `ttl`.
///
/// Cheap to clone. `Debug` shows the ids alone; the keys are overwritten when the last clone is dropped.
///
/// ```
/// use idem_runtime::encryption::AnswerKeys;
///
/// let keys = AnswerKeys::new("2026-02", &[2; 32])?.also("2026-01", &[1; 32])?;
/// assert_eq!(format!("{keys:?}"), r#"AnswerKeys { current: "2026-02", also: ["2026-01"] }"#);
/// # Ok::<(), idem_runtime::encryption::AnswerKeysError>(())
/// ```
#[derive(Clone)]
pub struct AnswerKeys(Arc<Keys>);

#[derive(Clone)]
struct Keys {
    current: Key,
    also: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    id: String,
    cipher: XChaCha20Poly1305,
}

/// A key that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerKeysError {
    /// The id cannot stand beside a ciphertext.
    #[error("the id of a key must have 1 to 32 of `a-z`, `0-9`, `.`, `_` and `-`")]
    Id,
    /// The key has another length.
    #[error("a key has {KEY} random bytes: this one has {length}")]
    Length {
        /// Its length in bytes.
        length: usize,
    },
    /// Two keys have one id.
    #[error("two keys have the id `{id}`: nobody could tell which one sealed an answer")]
    Twice {
        /// The id.
        id: String,
    },
}

impl AnswerKeys {
    /// Seals with `key`, which must have 32 random bytes. Records carry the id, so an id is never used again for
    /// other bytes.
    ///
    /// ```
    /// use idem_runtime::encryption::{AnswerKeys, AnswerKeysError};
    ///
    /// assert_eq!(AnswerKeys::new("k1", b"short").unwrap_err(), AnswerKeysError::Length { length: 5 });
    /// ```
    ///
    /// # Errors
    ///
    /// When the id has not 1 to 32 of `a-z 0-9 . _ -`, or the key not 32 bytes.
    pub fn new(id: &str, key: &[u8]) -> Result<Self, AnswerKeysError> {
        Ok(Self(Arc::new(Keys { current: Key::new(id, key)?, also: Vec::new() })))
    }

    /// Opens what was sealed with this key too.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and when another key has this id.
    pub fn also(mut self, id: &str, key: &[u8]) -> Result<Self, AnswerKeysError> {
        if self.named(id).is_some() {
            return Err(AnswerKeysError::Twice { id: id.to_owned() });
        }
        Arc::make_mut(&mut self.0).also.push(Key::new(id, key)?);
        Ok(self)
    }

    fn named(&self, id: &str) -> Option<&Key> {
        std::iter::once(&self.0.current).chain(&self.0.also).find(|key| key.id == id)
    }

    pub(super) fn seal(&self, plain: &[u8], binding: &Binding) -> Result<Sealed, NotSealed> {
        let Key { id, cipher } = &self.0.current;
        let nonce = XNonce::try_generate().map_err(|_| NotSealed)?;
        let payload = Payload { msg: plain, aad: binding.as_bytes() };
        let ciphertext = cipher.encrypt(&nonce, payload).map_err(|_| NotSealed)?;
        Ok(Sealed::new(id.clone(), [nonce.as_slice(), &ciphertext].concat()))
    }

    pub(super) fn open(&self, sealed: &Sealed, binding: &Binding) -> Result<Vec<u8>, OpenError> {
        let key_id = || sealed.key_id().to_owned();
        let key = self.named(sealed.key_id()).ok_or_else(|| OpenError::UnknownKey { key_id: key_id() })?;
        let refused = || OpenError::Refused { key_id: key_id() };
        let (nonce, ciphertext) = sealed.bytes().split_first_chunk::<NONCE>().ok_or_else(refused)?;
        let payload = Payload { msg: ciphertext, aad: binding.as_bytes() };
        key.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| refused())
    }
}

impl Key {
    fn new(id: &str, key: &[u8]) -> Result<Self, AnswerKeysError> {
        let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
        if !(1..=32).contains(&id.len()) || !id.bytes().all(allowed) {
            return Err(AnswerKeysError::Id);
        }
        let length = key.len();
        let cipher =
            XChaCha20Poly1305::new_from_slice(key).map_err(|_| AnswerKeysError::Length { length })?;
        Ok(Self { id: id.to_owned(), cipher })
    }
}

impl fmt::Debug for AnswerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let also: Vec<&str> = self.0.also.iter().map(|key| key.id.as_str()).collect();
        f.debug_struct("AnswerKeys").field("current", &self.0.current.id).field("also", &also).finish()
    }
}
