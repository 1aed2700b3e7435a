//! The stored form of what is sealed; known also to programs that cannot open it.

use std::fmt;

use data_encoding::BASE64;

/// Stands before a sealed text. No JSON begins like this, so no plain text is taken for a sealed one.
const TEXT: &str = "sealed:v1:";

/// What was sealed: the id of its key, and the nonce with the ciphertext.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    key_id: String,
    bytes: Vec<u8>,
}

impl Sealed {
    pub(crate) fn new(key_id: String, bytes: Vec<u8>) -> Self {
        Self { key_id, bytes }
    }

    /// The id of the key with which it was sealed.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// The nonce and the ciphertext.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn to_text(&self) -> String {
        format!("{TEXT}{}:{}", self.key_id, BASE64.encode(&self.bytes))
    }

    /// `None`: the text is a plain one. `Err`: it is a sealed one that nobody can read, with the id of its key.
    pub(crate) fn of_text(text: &str) -> Option<Result<Self, String>> {
        let rest = text.strip_prefix(TEXT)?;
        let (key_id, bytes) = rest.split_once(':').unwrap_or((rest, ""));
        let bytes = BASE64.decode(bytes.as_bytes());
        Some(bytes.map(|bytes| Self::new(key_id.to_owned(), bytes)).map_err(|_| key_id.to_owned()))
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("key_id", &self.key_id).field("bytes", &self.bytes.len()).finish()
    }
}

/// The id of the key with which a stored text was sealed: the payload of an event, its headers, the steps of a
/// record. `None`: it is plain.
///
/// ```
/// use idem_runtime::encryption::sealed_key_id;
///
/// assert_eq!(sealed_key_id("sealed:v1:2026-01:AAAA"), Some("2026-01"));
/// assert_eq!(sealed_key_id(r#"{"sku":"book"}"#), None);
/// ```
#[must_use]
pub fn sealed_key_id(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(TEXT)?;
    Some(rest.split_once(':').map_or(rest, |(key_id, _)| key_id))
}
