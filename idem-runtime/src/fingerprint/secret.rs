//! Secrets that key what is stored of a request.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::error::FingerprintError;
use super::{Fingerprint, length};

/// Stands in a stored fingerprint for the id when there is no secret.
pub(super) const PLAIN: &str = "-";

/// Fewest bytes of a secret; as many as the hash gives.
const MIN_SECRET: usize = 32;

/// A secret that keys fingerprints, so that nobody who reads a record can guess a payload of few possible
/// values.
///
/// `Debug` shows the id only.
///
/// ```
/// use idem_runtime::fingerprint::Secret;
///
/// let secret = Secret::new("2026-01", &[7; 32])?;
/// assert_eq!(format!("{secret:?}"), r#"Secret("2026-01")"#);
/// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
/// ```
#[derive(Clone)]
pub struct Secret {
    id: String,
    key: Hmac<Sha256>,
}

impl Secret {
    /// Names a secret; records carry the id, so an id must never be used again for other bytes.
    ///
    /// Fails unless the id has 1 to 16 characters of `a-z`, `0-9` and `-` and is not `-`, and there are 32
    /// bytes or more, which should be random.
    ///
    /// ```
    /// use idem_runtime::fingerprint::{FingerprintError, Secret};
    ///
    /// assert_eq!(Secret::new("-", &[7; 32]).unwrap_err(), FingerprintError::InvalidSecretId);
    /// assert_eq!(Secret::new("k1", b"short").unwrap_err(), FingerprintError::SecretTooShort);
    /// ```
    pub fn new(id: &str, bytes: &[u8]) -> Result<Self, FingerprintError> {
        let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        if !(1..=16).contains(&id.len()) || id == PLAIN || !id.bytes().all(allowed) {
            return Err(FingerprintError::InvalidSecretId);
        }
        if bytes.len() < MIN_SECRET {
            return Err(FingerprintError::SecretTooShort);
        }
        let key = Hmac::new_from_slice(bytes).map_err(|_| FingerprintError::SecretTooShort)?;
        Ok(Self { id: id.to_owned(), key })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The keyed hash of length-prefixed parts.
    pub(super) fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.key.clone();
        for part in parts {
            mac.update(&length(part));
            mac.update(part);
        }
        mac
    }

    /// The keyed hash of a fingerprint.
    pub(super) fn seal(&self, fingerprint: &Fingerprint) -> Hmac<Sha256> {
        self.mac(&[b"idem-seal-v1", &fingerprint.digest])
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Secret").field(&self.id).finish()
    }
}
