//! Why no fingerprint could be taken; the texts never repeat what the request contained.

/// Why a fingerprint, a secret or a list of ignored members was refused.
///
/// No message and no field holds content of the request: positions are byte offsets into the text that was
/// read.
///
/// ```
/// use idem_runtime::fingerprint::{Fingerprint, FingerprintError};
///
/// let refused = Fingerprint::json(br#"{"amount": 1, "amount": 2}"#);
/// assert_eq!(refused, Err(FingerprintError::DuplicateMember { at: 14 }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FingerprintError {
    /// The text is not JSON as RFC 8259 defines it; lone surrogates and text after the value count too.
    /// The client has to send one well-formed JSON value.
    #[error("malformed JSON at byte {at}: send exactly one JSON value as RFC 8259 defines it")]
    Syntax {
        /// Offset of the first byte that does not fit.
        at: usize,
    },
    /// The text is not UTF-8. The client has to encode it so; JSON knows no other charset.
    #[error("invalid UTF-8 at byte {at}: send JSON encoded as UTF-8")]
    InvalidUtf8 {
        /// Offset of the first byte that is not UTF-8.
        at: usize,
    },
    /// The text begins with a byte order mark. The client has to leave it away.
    #[error("the JSON begins with a byte order mark: send it without")]
    ByteOrderMark,
    /// An object names a member twice, so that readers could disagree about its value.
    /// The client has to send each name once.
    #[error("second member of the same name at byte {at}: send each name of an object once")]
    DuplicateMember {
        /// Offset of the second of the two names.
        at: usize,
    },
    /// Arrays and objects are nested too deeply. The client has to send a flatter value.
    #[error("nesting deeper than 128 levels at byte {at}: send a flatter value")]
    TooDeep {
        /// Offset of the bracket that opens the level over the limit.
        at: usize,
    },
    /// The exponent of a number does not fit. The client has to send a smaller one, or a string.
    #[error("exponent out of range at byte {at}: send at most 18 digits of exponent, or send a string")]
    ExponentOutOfRange {
        /// Offset of the number.
        at: usize,
    },
    /// A pointer given to [`HttpRequest::ignore`](super::HttpRequest::ignore) cannot be used.
    /// The route's declaration has to be corrected.
    #[error(
        "cannot ignore `{pointer}`: write a JSON pointer such as `/meta/sent_at` (`~1` is `/`, `~0` is `~`)"
    )]
    InvalidPointer {
        /// The pointer as it was written in the declaration.
        pointer: String,
    },
    /// A value refused to be serialised, or has a map whose keys are no strings.
    /// Its `Serialize` has to be corrected, or the argument skipped.
    // The cause is left out on purpose: `serde::ser::Error::custom` may quote the value.
    #[error("the value cannot be serialised as JSON: correct its `Serialize`, or skip it")]
    Unserializable,
    /// The id of a secret does not fit. The configuration has to name it otherwise.
    #[error("invalid secret id: write 1 to 16 characters of `a-z`, `0-9` and `-`, other than a single `-`")]
    InvalidSecretId,
    /// The secret is too short to be one. The configuration has to hold a longer one.
    #[error("secret too short: take at least 32 random bytes")]
    SecretTooShort,
}
