//! Stored fingerprints: sealed by the current secret, compared by the one that the record names.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use hmac::Mac;

use super::Fingerprint;
use super::secret::{PLAIN, Secret};

/// What a stored fingerprint says about a request.
///
/// ```
/// use idem_runtime::fingerprint::{Comparison, Fingerprint, Keyring};
///
/// let request = Fingerprint::bytes("text/plain", b"hello");
/// assert_eq!(Keyring::plain().compare(&request, "v9:-:00"), Comparison::Unknown);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// It was made from the same request.
    Same,
    /// It was made from another request.
    Different,
    /// It cannot be judged: its version or secret is unknown, or it is malformed. Never run such a request
    /// again.
    Unknown,
}

/// The secrets of a guard: one that seals new records, and earlier ones that still read old records.
///
/// Cheap to clone. To rotate, first [`accept`](Keyring::accept) the new secret on every node, then make it
/// the current one and accept the old, and drop the old once no record of it is left.
///
/// ```
/// use idem_runtime::fingerprint::{Comparison, Fingerprint, Keyring, Secret};
///
/// let request = Fingerprint::json(br#"{"amount": 5}"#)?;
/// let before = Keyring::new(Secret::new("k1", &[1; 32])?);
/// let stored = before.seal(&request);
///
/// let after = Keyring::new(Secret::new("k2", &[2; 32])?).accept(Secret::new("k1", &[1; 32])?);
/// assert_eq!(after.compare(&request, &stored), Comparison::Same);
/// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Keyring {
    secrets: Arc<Secrets>,
}

#[derive(Debug, Clone)]
struct Secrets {
    current: Option<Secret>,
    accepted: Vec<Secret>,
}

impl Keyring {
    /// Seals without a secret: the stored text is the fingerprint itself.
    ///
    /// ```
    /// use idem_runtime::fingerprint::{Fingerprint, Keyring};
    ///
    /// assert!(Keyring::plain().seal(&Fingerprint::bytes("", b"")).starts_with("v1:-:"));
    /// ```
    #[must_use]
    pub fn plain() -> Self {
        Self { secrets: Arc::new(Secrets { current: None, accepted: Vec::new() }) }
    }

    /// Seals with `current`. Records that were stored plain are still compared.
    ///
    /// ```
    /// use idem_runtime::fingerprint::{Fingerprint, Keyring, Secret};
    ///
    /// let keyring = Keyring::new(Secret::new("k1", &[1; 32])?);
    /// assert!(keyring.seal(&Fingerprint::bytes("", b"")).starts_with("v1:k1:"));
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub fn new(current: Secret) -> Self {
        Self { secrets: Arc::new(Secrets { current: Some(current), accepted: Vec::new() }) }
    }

    /// Accepts records that were sealed by `previous` too.
    ///
    /// ```
    /// use idem_runtime::fingerprint::{Comparison, Fingerprint, Keyring, Secret};
    ///
    /// let request = Fingerprint::bytes("", b"");
    /// let stored = Keyring::new(Secret::new("k1", &[1; 32])?).seal(&request);
    /// assert_eq!(Keyring::plain().compare(&request, &stored), Comparison::Unknown);
    /// let keyring = Keyring::plain().accept(Secret::new("k1", &[1; 32])?);
    /// assert_eq!(keyring.compare(&request, &stored), Comparison::Same);
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub fn accept(mut self, previous: Secret) -> Self {
        Arc::make_mut(&mut self.secrets).accepted.push(previous);
        self
    }

    /// The text to store: `v1:<id of the secret, or ->:<64 hexadecimal digits>`.
    ///
    /// ```
    /// use idem_runtime::fingerprint::{Comparison, Fingerprint, Keyring};
    ///
    /// let request = Fingerprint::bytes("text/plain", b"hello");
    /// let stored = Keyring::plain().seal(&request);
    /// assert_eq!(Keyring::plain().compare(&request, &stored), Comparison::Same);
    /// ```
    #[must_use]
    pub fn seal(&self, fingerprint: &Fingerprint) -> String {
        let (id, tag) = match self.current() {
            None => (PLAIN, HEXLOWER.encode(&fingerprint.digest)),
            Some(secret) => (secret.id(), HEXLOWER.encode(&secret.seal(fingerprint).finalize().into_bytes())),
        };
        format!("v1:{id}:{tag}")
    }

    /// Compares by the version and the secret that `stored` names, whatever is current now.
    ///
    /// ```
    /// use idem_runtime::fingerprint::{Comparison, Fingerprint, Keyring};
    ///
    /// let stored = Keyring::plain().seal(&Fingerprint::json(b"[1]")?);
    /// let other = Fingerprint::json(b"[2]")?;
    /// assert_eq!(Keyring::plain().compare(&other, &stored), Comparison::Different);
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub fn compare(&self, fingerprint: &Fingerprint, stored: &str) -> Comparison {
        let Some((id, tag)) = parse_sealed(stored) else {
            return Comparison::Unknown;
        };
        let same = if id == PLAIN {
            Some(tag == fingerprint.digest)
        } else {
            // Should two secrets share an id, either may have sealed the record.
            let judged = self.named(id).map(|secret| secret.seal(fingerprint).verify_slice(&tag).is_ok());
            judged.reduce(|one, other| one || other)
        };
        match same {
            None => Comparison::Unknown,
            Some(true) => Comparison::Same,
            Some(false) => Comparison::Different,
        }
    }

    pub(super) fn current(&self) -> Option<&Secret> {
        self.secrets.current.as_ref()
    }

    /// The secrets with this id.
    pub(super) fn named<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Secret> {
        self.secrets.current.iter().chain(&self.secrets.accepted).filter(move |secret| secret.id() == id)
    }
}

fn parse_sealed(stored: &str) -> Option<(&str, [u8; 32])> {
    let (id, hex) = stored.strip_prefix("v1:")?.split_once(':')?;
    let tag = HEXLOWER.decode(hex.as_bytes()).ok()?;
    Some((id, tag.try_into().ok()?))
}

#[cfg(test)]
#[path = "keyring_tests.rs"]
mod tests;
