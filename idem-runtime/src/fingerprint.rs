//! Fingerprints: what makes a request the same request, and how it is written into a record.
//!
//! It does no I/O, and no Cargo feature of another crate changes a result.
//!
//! # The preimage, version 1
//!
//! Everything below can be computed by another implementation from this page and RFC 8785 alone.
//!
//! `part(x)` is the length of `x` in bytes as an unsigned 64-bit big-endian integer, then `x`; texts are
//! UTF-8. A fingerprint is the SHA-256 of these parts in this order; a word in quotes stands for itself:
//!
//! | made by | parts |
//! |---|---|
//! | [`Fingerprint::of`], [`Fingerprint::json`] | `"idem-fingerprint-v1"`, `"json"`, canonical JSON |
//! | [`Fingerprint::bytes`] | `"idem-fingerprint-v1"`, *body as bytes* |
//! | [`HttpRequest::fingerprint`] | `"idem-fingerprint-v1"`, `"http"`, method, path, query, *body* |
//!
//! Method, path and query are taken as given, an absent query as an empty one.
//!
//! *body* is, when the content type is `application/json` or `application/...+json` and the body is not
//! empty: `"json"`, the media type (lower case, no parameters), canonical JSON. Null members are left out,
//! except for `application/merge-patch+json`. With an empty body it is `"bytes"`, that same media type, an
//! empty part. Under every other content type, or none, it is *body as bytes*:
//!
//! - `"bytes"`, content type, body; or
//! - if the content type is `multipart/...` with exactly one boundary that RFC 2046 allows, and `--boundary`
//!   occurs in the body: `"multipart"`, content type without the boundary, then one part for each piece of
//!   the body that remains when it is split at every `--boundary`, from left to right, empty pieces included.
//!   So a boundary drawn afresh changes nothing; names, order and headers inside the parts do count, and so
//!   does the boundary of a multipart body nested in another.
//!
//! The content type is written as media type, then `;name=value` for each parameter in the order sent: white
//! space around each removed, media type and names in lower case, values (quotes included) as sent; an absent
//! one is empty.
//!
//! **Canonical JSON** is RFC 8785 (no white space, members sorted by UTF-16 code units, the shortest
//! escapes), but no number is rounded: each is taken as an exact decimal, stripped of the zeros that mean
//! nothing, and laid out as ECMAScript lays out a number. So `2`, `2.0` and `20e-1` are one number, `-0` is
//! `0`, and 9007199254740992 is not 9007199254740993. Members whose value is null are left out at every level
//! (elements of arrays are kept), and so is what [`HttpRequest::ignore`] points to. Text is not normalised:
//! NFC and NFD differ. Refused are duplicate members, more than 128 levels, exponents of more than 18 digits
//! (leading zeros not counted; of a number that is zero every exponent is taken), and what RFC 8259 forbids.
//!
//! **Members** are the members of a payload that is a JSON object, as left after the removals above: of those
//! with names of at most 64 bytes the first 64 in canonical order, each with the SHA-256 of its canonical
//! value.
//!
//! # What is stored
//!
//! Without a secret `v1:-:` and the fingerprint in lower-case hexadecimal. With one, `v1:<id>:` and in
//! hexadecimal the HMAC-SHA-256 under the secret of `part("idem-seal-v1")`, `part(fingerprint)`. The tag of a
//! member is in hexadecimal the first 8 bytes of the HMAC of `part("idem-member-v1")`, `part(name)`,
//! `part(SHA-256 of its canonical value)`.

mod canonical;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod keyring;
mod media;
mod members;
mod number;
mod pointer;
mod request;
mod secret;

use std::fmt;

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest, Sha256};

pub use self::error::FingerprintError;
pub use self::keyring::{Comparison, Keyring};
pub use self::request::HttpRequest;
pub use self::secret::Secret;

use self::canonical::{Node, Nulls};

const DOMAIN: &[u8] = b"idem-fingerprint-v1";

/// Most members of a payload that are told apart.
const MAX_MEMBERS: usize = 64;

/// Longest name, in bytes, of a member that is told apart.
const MAX_MEMBER_NAME: usize = 64;

/// The digest of a request, and a digest of each top-level member of its payload.
///
/// Two requests with equal fingerprints are the same request. `Debug` shows the digest and nothing of the
/// payload.
///
/// ```
/// use idem_runtime::fingerprint::Fingerprint;
///
/// let first = Fingerprint::json(br#"{"amount": 2.0, "note": null, "to": "a"}"#)?;
/// let again = Fingerprint::json(br#"{"to":"\u0061","amount":2}"#)?;
/// assert_eq!(first, again);
/// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint {
    digest: [u8; 32],
    /// In canonical order.
    members: Vec<(String, [u8; 32])>,
}

impl Fingerprint {
    /// Takes the fingerprint of a value, such as the arguments of a service function, through its
    /// `Serialize`.
    ///
    /// What `Serialize` leaves out (`#[serde(skip_serializing)]`) is not covered: values that differ only
    /// there are the same. `None` and a member that is absent are the same, and so is a float that is not
    /// finite, which `serde_json` writes as null. Maps may be unordered, but a `HashSet` becomes an array in
    /// random order and would change from call to call: use a `BTreeSet`.
    ///
    /// Fails when the value cannot be serialised as JSON, or its JSON is refused as by [`Fingerprint::json`].
    ///
    /// ```
    /// use idem_runtime::fingerprint::Fingerprint;
    ///
    /// let value = ("task", [1, 2, 3]);
    /// assert_eq!(Fingerprint::of(&value)?, Fingerprint::json(br#"["task", [1, 2, 3]]"#)?);
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, FingerprintError> {
        // The text is read back because only its normal form is independent of serde_json's Cargo features.
        let text = serde_json::to_vec(value).map_err(|_| FingerprintError::Unserializable)?;
        Self::json(&text)
    }

    /// Takes the fingerprint of one JSON text, equal to that of a value which serialises to it.
    ///
    /// Fails on text that RFC 8259 forbids, duplicate members, more than 128 levels and exponents over 18
    /// digits.
    ///
    /// ```
    /// use idem_runtime::fingerprint::Fingerprint;
    ///
    /// assert_ne!(Fingerprint::json(b"9007199254740993")?, Fingerprint::json(b"9007199254740992")?);
    /// assert!(Fingerprint::json(b"[1,]").is_err());
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    pub fn json(text: &[u8]) -> Result<Self, FingerprintError> {
        let node = canonical::parse(text)?;
        Ok(Preimage::new().part(b"json").json(&node, Nulls::Dropped))
    }

    /// Takes the fingerprint of a body that is not JSON, together with its content type (empty if there is
    /// none).
    ///
    /// The boundary of a multipart body does not count.
    ///
    /// ```
    /// use idem_runtime::fingerprint::Fingerprint;
    ///
    /// let text = Fingerprint::bytes("text/plain; charset=utf-8", b"hello");
    /// assert_eq!(text, Fingerprint::bytes("Text/Plain;charset=utf-8", b"hello"));
    /// assert_ne!(text, Fingerprint::bytes("text/html; charset=utf-8", b"hello"));
    /// ```
    #[must_use]
    pub fn bytes(content_type: &str, body: &[u8]) -> Self {
        Preimage::new().bytes(&media::MediaType::parse(content_type), body)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Fingerprint({})", HEXLOWER.encode(&self.digest))
    }
}

/// The parts of a fingerprint, hashed as they come.
struct Preimage(Sha256);

impl Preimage {
    fn new() -> Self {
        Self(Sha256::new()).part(DOMAIN)
    }

    /// The length first, so that no two lists of parts run into the same bytes.
    fn part(mut self, bytes: &[u8]) -> Self {
        self.0.update(length(bytes));
        self.0.update(bytes);
        self
    }

    fn json(self, node: &Node<'_>, nulls: Nulls) -> Fingerprint {
        let mut text = String::new();
        let mut members = Vec::new();
        node.write_with(nulls, &mut text, |name, value| {
            if members.len() < MAX_MEMBERS && name.len() <= MAX_MEMBER_NAME {
                members.push((name.to_owned(), Sha256::digest(value).into()));
            }
        });
        Fingerprint { digest: self.part(text.as_bytes()).0.finalize().into(), members }
    }

    fn bytes(self, content_type: &media::MediaType<'_>, body: &[u8]) -> Fingerprint {
        let pieces = content_type.boundary().map(|boundary| media::split_at_boundary(body, boundary));
        let preimage = match pieces {
            Some(pieces) if pieces.len() > 1 => {
                let start = self.part(b"multipart").part(content_type.normal_without_boundary().as_bytes());
                pieces.into_iter().fold(start, Self::part)
            }
            _ => self.part(b"bytes").part(content_type.normal().as_bytes()).part(body),
        };
        Fingerprint { digest: preimage.0.finalize().into(), members: Vec::new() }
    }
}

fn length(bytes: &[u8]) -> [u8; 8] {
    (bytes.len() as u64).to_be_bytes()
}

#[cfg(test)]
#[path = "fingerprint/fingerprint_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "fingerprint/property_tests.rs"]
mod property_tests;
